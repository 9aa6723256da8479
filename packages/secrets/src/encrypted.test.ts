import { mkdir, mkdtempDisposable, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ThvError } from '@toolhive/contract/failure';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EncryptedSecrets } from './encrypted.ts';
import type { EncryptedOptions } from './encrypted-file.ts';
import { buildSealed, defaultCost, newFile, openRecords, parseSealed, sealRecord } from './sealed-file.ts';
import { cheapCost, memoryKeyring, noKeyring, originalFile } from './testing/keyrings.ts';

/** A folder for a file of secrets, and daemons that open it one after the other. */
async function makePlace(shared: Partial<EncryptedOptions> = {}) {
  const home = await mkdtempDisposable(join(tmpdir(), 'thv-secrets-'));
  const path = join(home.path, 'secrets_encrypted');
  return {
    path,
    directory: home.path,
    open: (changes: Partial<EncryptedOptions> = {}) =>
      new EncryptedSecrets({ path, env: {}, keyring: noKeyring, cost: cheapCost, ...shared, ...changes }),
    [Symbol.asyncDispose]: () => home.remove(),
  };
}

type Place = Awaited<ReturnType<typeof makePlace>>;

describe('encrypted secrets', () => {
  test('are available to the next daemon that has the password', async () => {
    await using place = await makePlace();
    const before = place.open();
    await before.setup('open sesame');
    await before.set('token', 'value');

    const after = place.open({ env: { TOOLHIVE_SECRETS_PASSWORD: 'open sesame' } });

    expect(await after.get('token')).toBe('value');
    expect(await after.list()).toEqual([{ key: 'token' }]);
    expect(await after.isLocked()).toBe(false);
  });

  test('are available to the next daemon that has the keyring', async () => {
    await using place = await makePlace({ keyring: memoryKeyring() });
    const before = place.open();
    await before.setup();
    await before.set('token', 'value');

    const after = place.open();

    expect(await after.get('token')).toBe('value');
  });

  test('have a vault beside them, which no secret name can reach', async () => {
    await using place = await makePlace({ keyring: memoryKeyring() });
    const before = place.open();
    await before.set('token', 'value');
    await before.vault.set('tokens', 'own');

    const after = place.open();

    expect(await after.vault.get('tokens')).toBe('own');
    expect(await after.list()).toEqual([{ key: 'token' }]);
    expect(await after.get('\0tokens')).toBe(undefined);
    expect(await after.delete('\0tokens')).toBe(false);
    await expect(after.set('\0tokens', 'other')).rejects.toMatchObject({ kind: 'invalid' });
    expect(await after.vault.get('token')).toBe(undefined);
    expect(await after.vault.delete('tokens')).toBe(true);
    expect(await after.get('token')).toBe('value');
  });

  test('need a password where there is no keyring', async () => {
    await using place = await makePlace();

    const setup = place.open().setup();

    await expect(setup).rejects.toMatchObject({
      kind: 'invalid',
      hint: expect.stringContaining('set a password'),
    });
    expect(await readdir(place.directory)).toEqual([]);
  });

  test('can have a generated password, which only the user can read and the next daemon finds', async () => {
    await using place = await makePlace();
    const before = place.open();

    const outcome = await before.setup(undefined, undefined, { generate: true });
    await before.set('token', 'value');

    const { mode } = await stat(`${place.path}.password`);
    expect([outcome, mode & 0o777]).toEqual(['generated', 0o600]);
    expect(await place.open().get('token')).toBe('value');
  });

  test('need slow guesses for the password of a user, but not for a generated one', async () => {
    await using place = await makePlace();
    const secrets = place.open();

    await secrets.setup(undefined, undefined, { generate: true });
    const generated = await readFile(place.path);
    await secrets.setup(undefined, 'open sesame');
    const chosen = await readFile(place.path);

    expect(await parseSealed(generated)).toMatchObject({ locks: [{ kdf: 'scrypt', N: 1_024, r: 8, p: 1 }] });
    expect(await parseSealed(chosen)).toMatchObject({ locks: [{ kdf: 'scrypt', ...cheapCost }] });
  });

  test('forget the generated password when the user chooses one', async () => {
    await using place = await makePlace();
    const before = place.open();
    await before.setup(undefined, undefined, { generate: true });

    await before.setup(undefined, 'open sesame');

    expect(await readdir(place.directory)).toEqual(['secrets_encrypted']);
    expect(await place.open().isLocked()).toBe(true);
    expect(await place.open({ env: { TOOLHIVE_SECRETS_PASSWORD: 'open sesame' } }).isLocked()).toBe(false);
  });

  test.each<[string, Partial<EncryptedOptions>]>([
    ['a keyring', { keyring: memoryKeyring() }],
    ['a password in the environment', { env: { TOOLHIVE_SECRETS_PASSWORD: 'open sesame' } }],
  ])('generate no password beside %s', async (_title, options) => {
    await using place = await makePlace(options);

    const outcome = await place.open().setup(undefined, undefined, { generate: true });

    expect(outcome).toBe('created');
    expect(await readdir(place.directory)).toEqual(['secrets_encrypted']);
  });

  test('open by the password when the keyring is lost, and by the keyring without anybody typing', async () => {
    const keyring = memoryKeyring();
    await using place = await makePlace();
    const before = place.open({ keyring });
    await before.setup('open sesame');
    await before.set('token', 'value');

    const withKeyring = place.open({ keyring });
    const withPassword = place.open();

    expect(await withKeyring.get('token')).toBe('value');
    expect(await withPassword.setup('open sesame')).toBe('kept');
    expect(await withPassword.get('token')).toBe('value');
  });

  test('are locked without password and keyring, and unlocked by the setup with the same password', async () => {
    await using place = await makePlace();
    const before = place.open();
    await before.setup('open sesame');
    await before.set('token', 'value');
    const after = place.open();

    expect(await after.isLocked()).toBe(true);
    await expect(after.get('token')).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the secrets are locked',
    });
    await expect(after.set('token', 'other')).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(after.setup()).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(after.setup('wrong')).rejects.toMatchObject({ kind: 'invalid' });

    expect(await after.setup('open sesame')).toBe('kept');
    expect(await after.get('token')).toBe('value');
  });

  test('are tried once, however many ask for them while they are locked', async () => {
    await using place = await makePlace();
    await place.open({ keyring: memoryKeyring() }).setup();
    let asked = 0;
    const silent = { ...noKeyring, get: async () => void asked++ };
    const secrets = place.open({ keyring: silent });

    const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => secrets.get('token')));

    expect(attempts[19]).toMatchObject({ reason: { kind: 'unavailable' } });
    expect(asked).toBe(1);
  });

  test('take the password from a file, without the end of its line', async () => {
    await using place = await makePlace();
    await place.open().setup('open sesame');
    const passwordFile = join(place.directory, 'credential');
    await writeFile(passwordFile, 'open sesame\n');

    const after = place.open({ env: { TOOLHIVE_SECRETS_PASSWORD_FILE: passwordFile } });

    expect(await after.list()).toEqual([]);
  });

  test('take a new password while they are open, and keep everything', async () => {
    await using place = await makePlace();
    const before = place.open();
    await before.setup('the old one');
    await before.set('token', 'value');

    expect(await before.setup(undefined, 'the new one')).toBe('password changed');

    const after = place.open();
    await expect(after.setup('the old one')).rejects.toMatchObject({ kind: 'invalid' });
    expect(await after.setup('the new one')).toBe('kept');
    expect(await after.get('token')).toBe('value');
  });

  test('take a new password with the old one while they are locked', async () => {
    await using place = await makePlace();
    await place.open().setup('the old one');
    const locked = place.open();

    await expect(locked.setup(undefined, 'the new one')).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await locked.setup('the old one', 'the new one')).toBe('password changed');

    expect(await place.open().setup('the new one')).toBe('kept');
  });

  test('take no other password for theirs, though they are open', async () => {
    await using place = await makePlace();
    const secrets = place.open();
    await secrets.setup('open sesame');
    const before = await readFile(place.path);

    const setup = secrets.setup('open barley');

    await expect(setup).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('wrong password for'),
    });
    expect(await readFile(place.path)).toEqual(before);
  });

  test('get a password that only the keyring opened so far', async () => {
    await using place = await makePlace();
    const secrets = place.open({ keyring: memoryKeyring() });
    await secrets.setup();
    const before = await secrets.hasPassword();

    const outcome = await secrets.setup('open sesame');

    expect([before, outcome, await secrets.hasPassword()]).toEqual([false, 'password changed', true]);
    expect(await place.open().setup('open sesame')).toBe('kept');
  });

  test('take no short password, and none to replace a missing one', async () => {
    await using place = await makePlace({ keyring: memoryKeyring() });
    const secrets = place.open();
    const short = { kind: 'invalid', message: 'a password for secrets must have at least 8 characters' };

    await expect(secrets.setup('seven 7')).rejects.toMatchObject(short);
    await expect(secrets.setup(undefined, 'long enough')).rejects.toMatchObject({ kind: 'invalid' });
    expect(await readdir(place.directory)).toEqual([]);
    await secrets.setup('long enough');
    await expect(secrets.setup('long enough', 'seven 7')).rejects.toMatchObject(short);
    expect(await place.open({ keyring: memoryKeyring() }).setup('long enough')).toBe('kept');
  });

  test('open with the same letters in other code points', async () => {
    await using place = await makePlace();
    await place.open().setup('caf\u00e9 noir');

    expect(await place.open().setup('cafe\u0301 noir')).toBe('kept');
  });

  test('never write over an entry that the keyring has', async () => {
    const keyring = memoryKeyring(new Map([['toolhive', 'of another file']]));
    await using one = await makePlace({ keyring });
    await using other = await makePlace({ keyring });

    await one.open().setup();
    await other.open().setup();
    await one.open().setup('a password');

    expect(keyring.entries.get('toolhive')).toBe('of another file');
    expect(await one.open().isLocked()).toBe(false);
    expect(await other.open().isLocked()).toBe(false);
  });

  test('get a new way by the keyring when it has lost its key', async () => {
    const keyring = memoryKeyring();
    await using place = await makePlace({ keyring });
    await place.open().setup('open sesame');
    keyring.entries.clear();

    await place.open().setup('open sesame');

    expect(await place.open().isLocked()).toBe(false);
  });

  test('are opened by the password alone when the keyring was told to forget', async () => {
    const keyring = memoryKeyring();
    await using place = await makePlace({ keyring });
    const secrets = place.open();
    await secrets.setup('open sesame');
    await secrets.set('token', 'value');

    await secrets.forgetKey();
    await secrets.forgetKey();

    expect(keyring.entries.size).toBe(0);
    expect(await secrets.isLocked()).toBe(true);
    await secrets.setup('open sesame');
    expect(await secrets.get('token')).toBe('value');
  });

  test('keep their key in the keyring when nothing else opens them', async () => {
    const keyring = memoryKeyring();
    await using place = await makePlace({ keyring });
    await place.open().setup();

    await expect(place.open().forgetKey()).rejects.toMatchObject({ kind: 'conflict' });

    expect(await place.open().isLocked()).toBe(false);
  });

  test('that were the original’s take its password out of the keyring, and no other', async () => {
    const keyring = memoryKeyring(new Map([['toolhive', 'the old password']]));
    await using place = await makePlace({ keyring });
    await using stranger = await makePlace({ keyring });
    await stranger.open().setup('another password');
    await writeFile(place.path, originalFile('the old password', { token: 'value' }));
    await place.open().setup();

    await stranger.open().forgetKey();
    const between = keyring.entries.get('toolhive');
    await place.open().forgetKey();

    expect(between).toBe('the old password');
    expect(keyring.entries.size).toBe(0);
  });

  test('tell when the keyring does not forget', async () => {
    const keyring = { ...memoryKeyring(), delete: async () => false };
    await using place = await makePlace({ keyring });
    await place.open().setup('open sesame');

    await expect(place.open().forgetKey()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('tell when the keyring is locked, and so does not forget', async () => {
    const keyring = memoryKeyring();
    await using place = await makePlace({ keyring });
    await place.open().setup('open sesame');
    const silent = { ...keyring, get: async () => undefined, delete: async () => false };

    await expect(place.open({ keyring: silent }).forgetKey()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('all land when a hundred are stored at once', async () => {
    await using place = await makePlace();
    const secrets = place.open();
    await secrets.setup('open sesame');

    await Promise.all(
      Array.from({ length: 100 }, (_, index) => secrets.set(`key-${index}`, `value-${index}`)),
    );

    const after = place.open({ env: { TOOLHIVE_SECRETS_PASSWORD: 'open sesame' } });
    expect(await after.list()).toHaveLength(100);
    expect(await after.get('key-42')).toBe('value-42');
  });

  test('are gone when they are deleted', async () => {
    await using place = await makePlace();
    const secrets = place.open();
    await secrets.setup('open sesame');
    await secrets.set('token', 'value');

    expect(await secrets.delete('token')).toBe(true);
    expect(await secrets.delete('token')).toBe(false);
    expect(await secrets.get('token')).toBeUndefined();
  });

  test('show neither names nor values in their file, which only its owner reads', async () => {
    await using place = await makePlace();
    const secrets = place.open();
    await secrets.setup('open sesame');
    await secrets.set('canary-name', 'canary-value');

    const bytes = await readFile(place.path);

    expect(bytes.toString('latin1')).not.toMatch(/canary|sesame/);
    expect((await stat(place.path)).mode & 0o777).toBe(0o600);
    expect(await readdir(place.directory)).toEqual(['secrets_encrypted']);
  });

  test('encrypt the same thing differently each time', async () => {
    await using place = await makePlace();
    const secrets = place.open();
    await secrets.setup('open sesame');

    await secrets.set('token', 'value');
    const first = (await parseSealed(await readFile(place.path)))?.records[0];
    await secrets.set('token', 'value');
    const second = (await parseSealed(await readFile(place.path)))?.records[0];

    expect(first).toBeDefined();
    expect(second?.equals(first!)).toBe(false); // it was just found
  });

  test('do not grow over their bound', async () => {
    await using place = await makePlace();
    const secrets = place.open();
    await secrets.setup('open sesame');
    const large = 'x'.repeat(17 * 1024 * 1024);
    await secrets.set('one', large);

    const second = secrets.set('two', large);

    await expect(second).rejects.toMatchObject({ kind: 'too-large' });
    expect(await secrets.list()).toEqual([{ key: 'one' }]);
  });

  test('say so when the file cannot be written', async () => {
    await using place = await makePlace({ keyring: memoryKeyring() });
    await writeFile(join(place.directory, 'file'), '');
    const secrets = place.open({ path: join(place.directory, 'file', 'secrets') });

    await expect(secrets.setup()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('say so when a folder stands where the file should be', async () => {
    await using place = await makePlace({ keyring: memoryKeyring() });
    await mkdir(place.path);

    await expect(place.open().setup()).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('are empty while there is no file, and the first one makes it', async () => {
    await using place = await makePlace({ keyring: memoryKeyring() });
    const secrets = place.open();

    expect(await secrets.list()).toEqual([]);
    expect(await readdir(place.directory)).toEqual([]);
    await secrets.set('token', 'value');

    expect(await place.open().get('token')).toBe('value');
  });

  test('hold with the parameters of scrypt that the product uses', async () => {
    await using place = await makePlace({ cost: defaultCost });
    await place.open().setup('open sesame');

    const { locks } = (await parseSealed(await readFile(place.path)))!; // it was just written

    expect(locks).toMatchObject([{ by: 'passphrase', kdf: 'scrypt', N: 131_072, r: 8, p: 1 }]);
    expect(await place.open().setup('open sesame')).toBe('kept');
  });
});

describe('a file of the original', () => {
  const secrets = { token: 'value', 'with,comma': 'x', ['__proto__']: 'odd' };

  test.each([
    ['the password that is given', 'pw', {}, noKeyring],
    ['the password in the environment', undefined, { TOOLHIVE_SECRETS_PASSWORD: 'pw' }, noKeyring],
    ['the password in the keyring', undefined, {}, memoryKeyring(new Map([['toolhive', 'pw']]))],
    [
      'the password in the Keychain of macOS',
      undefined,
      {},
      memoryKeyring(new Map([['toolhive', `go-keyring-base64:${Buffer.from('pw').toString('base64')}`]])),
    ],
  ])('is taken over with %s', async (_what, password, env, keyring) => {
    await using place = await makePlace({ env, keyring });
    const file = JSON.stringify({ secrets: Object.fromEntries(Object.entries(secrets)) });
    expect(file).toContain('__proto__');
    await writeFile(place.path, originalFile('pw', secrets));

    expect(await place.open().setup(password)).toBe('imported');

    const after = place.open({ env: { TOOLHIVE_SECRETS_PASSWORD: 'pw' } });
    expect(await after.list()).toEqual([{ key: '__proto__' }, { key: 'token' }, { key: 'with,comma' }]);
    expect(await after.get('__proto__')).toBe('odd');
    expect(await readdir(place.directory)).toEqual(['secrets_encrypted']);
  });

  test('is taken over by the first one who reads it, when its password is at hand', async () => {
    await using place = await makePlace({ keyring: memoryKeyring(new Map([['toolhive', 'pw']])) });
    await writeFile(place.path, originalFile('pw', secrets));

    expect(await place.open().get('token')).toBe('value');

    expect(await parseSealed(await readFile(place.path))).toBeDefined();
  });

  test('stays as it is without its password', async () => {
    await using place = await makePlace();
    const bytes = originalFile('pw', secrets);
    await writeFile(place.path, bytes);
    const opened = place.open();

    await expect(opened.setup('wrong')).rejects.toMatchObject({ kind: 'invalid' });
    await expect(opened.setup()).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(opened.set('a', 'b')).rejects.toMatchObject({ kind: 'unavailable' });

    expect(await opened.isLocked()).toBe(true);
    expect(await readFile(place.path)).toEqual(bytes);
  });

  test('may be one without secrets', async () => {
    await using place = await makePlace();
    await writeFile(place.path, originalFile('password', null));

    await place.open().setup('password');

    expect(await place.open({ env: { TOOLHIVE_SECRETS_PASSWORD: 'password' } }).list()).toEqual([]);
  });
});

describe('the file', () => {
  const anySecrets = fc.dictionary(
    // No name that comes from outside has a NUL; what the daemon keeps for itself begins with one.
    fc.string({ unit: 'binary' }).filter((name) => !name.startsWith('\0')),
    fc.string({ unit: 'binary', maxLength: 200 }),
  );

  test('gives back any names and values', async () => {
    await using place = await makePlace();
    await fc.assert(
      fc.asyncProperty(anySecrets, async (secrets) => {
        await rm(place.path, { force: true });
        const before = place.open();
        await before.setup('password');
        for (const [name, value] of Object.entries(secrets)) await before.set(name, value);

        const after = place.open({ env: { TOOLHIVE_SECRETS_PASSWORD: 'password' } });

        for (const [name, value] of Object.entries(secrets)) expect(await after.get(name)).toBe(value);
        expect(await after.list()).toHaveLength(Object.keys(secrets).length);
      }),
      { numRuns: 40 },
    );
  });

  test('is never overwritten once a byte of it is flipped', async () => {
    await using place = await makePlace();
    const secrets = place.open();
    await secrets.setup('password');
    await secrets.set('token', 'value');
    const whole = await readFile(place.path);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const bytes = Buffer.from(whole);
        bytes[at]! ^= flip; // within its length
        expect(await isLeftAlone(place, bytes)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test('is never overwritten once a part of it is cut off', async () => {
    await using place = await makePlace();
    const secrets = place.open();
    await secrets.setup('password');
    await secrets.set('token', 'value');
    const whole = await readFile(place.path);

    for (let length = 1; length < whole.length; length++)
      expect(await isLeftAlone(place, whole.subarray(0, length)), `${length} bytes`).toBe(true);
  });

  /** Everything that is tried with these bytes is a conflict that names the file, which stays as it is. */
  async function isLeftAlone(place: Place, bytes: Buffer): Promise<boolean> {
    await writeFile(place.path, bytes);
    const secrets = place.open({ env: { TOOLHIVE_SECRETS_PASSWORD: 'password' } });
    const attempts = [
      secrets.setup('password'),
      secrets.set('token', 'other'),
      secrets.get('token'),
      secrets.delete('token'),
    ];
    const isConflict = (attempt: PromiseSettledResult<unknown>): boolean =>
      attempt.status === 'rejected' &&
      attempt.reason instanceof ThvError &&
      attempt.reason.kind === 'conflict' &&
      attempt.reason.message.includes(place.path);
    const areRefused = (await Promise.allSettled(attempts)).every(isConflict);
    return areRefused && (await readFile(place.path)).equals(bytes);
  }

  test('that was damaged while the daemon runs is not overwritten', async () => {
    await using place = await makePlace();
    const secrets = place.open();
    await secrets.setup('password');
    const bytes = (await readFile(place.path)).fill(7, 40, 60);
    await writeFile(place.path, bytes);

    await expect(secrets.set('token', 'value')).rejects.toMatchObject({ kind: 'conflict' });

    expect((await readFile(place.path)).equals(bytes)).toBe(true);
  });

  const shuffles: [string, (records: readonly Buffer[], old: Buffer) => Buffer[]][] = [
    ['left out', ([first]) => [first!]],
    ['doubled', ([first]) => [first!, first!]],
    ['moved', ([first, second]) => [second!, first!]],
    ['brought back from before', (records, old) => [old, ...records.slice(1)]],
  ];

  test.each(shuffles)('does not open with a record %s by someone without the key', async (_what, change) => {
    const { id, dataKey } = newFile();
    const another = newFile().dataKey;
    const records = ['a', 'b'].map((name) => sealRecord(name, 'new', id, dataKey));
    const old = sealRecord('a', 'old', id, dataKey);
    const locks = [{ by: 'keyring' as const, user: 'someone', wrapped: '' }];

    // Only the seal prevents this: everything else is made again.
    const forged = await parseSealed(await buildSealed({ id, locks }, change(records, old), another));
    const honest = await parseSealed(await buildSealed({ id, locks }, records, dataKey));

    expect(await openRecords(forged!, dataKey)).toBeUndefined(); // it parses
    expect(await openRecords(honest!, dataKey)).toHaveProperty('size', 2);
  });

  test('does not open with a lock that someone without the key put in', async () => {
    const { id, dataKey } = newFile();
    const locks = [{ by: 'keyring' as const, user: 'someone', wrapped: '' }];
    const honest = await buildSealed({ id, locks }, [], dataKey);
    const forged = await buildSealed({ id, locks: [...locks, ...locks] }, [], newFile().dataKey);

    expect(await openRecords((await parseSealed(honest))!, dataKey)).toBeDefined();
    expect(await openRecords((await parseSealed(forged))!, dataKey)).toBeUndefined();
  });

  test('does not ask for more memory than a forged header may', async () => {
    const { id, dataKey } = newFile();
    const greedy = {
      by: 'passphrase',
      kdf: 'scrypt',
      N: 2 ** 30,
      r: 8,
      p: 1,
      salt: '',
      wrapped: '',
    } as const;

    expect(await parseSealed(await buildSealed({ id, locks: [greedy] }, [], dataKey))).toBeUndefined();
  });
});
