import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { ThvError } from '@toolhive/contract/failure';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { SettingsFile } from '@toolhive/state/settings-file';
import { statePaths } from '@toolhive/state/paths';
import { capabilitiesOf } from './provider.ts';
import { formatReference, parseReference } from './reference.ts';
import { Secrets } from './secrets.ts';
import type { SecretsChange, SecretsOptions } from './secrets.ts';
import { cheapCost, memoryKeyring, noKeyring } from './testing/keyrings.ts';

async function openTestSecrets(changes: Partial<SecretsOptions> = {}) {
  const home = await mkdtempDisposable(join(tmpdir(), 'thv-secrets-'));
  const paths = statePaths({ HOME: home.path });
  const logged: string[] = [];
  const events: SecretsChange[] = [];
  const open = async (more: Partial<SecretsOptions> = {}) =>
    new Secrets({
      settings: await SettingsFile.open(paths.settings, pino({ level: 'silent' })),
      path: paths.secrets,
      env: {},
      version: 'v0.0.0-test',
      log: pino({ level: 'trace' }, { write: (line) => void logged.push(line) }),
      onChange: (change) => events.push(change),
      keyring: memoryKeyring(),
      cost: cheapCost,
      ...changes,
      ...more,
    });
  return {
    paths,
    logged,
    events,
    open,
    secrets: await open(),
    [Symbol.asyncDispose]: () => home.remove(),
  };
}

/** How attempts fail, each way once. */
async function failuresOf(...attempts: Promise<unknown>[]): Promise<unknown[]> {
  const reasons = (await Promise.allSettled(attempts)).map((attempt) =>
    attempt.status === 'rejected' && attempt.reason instanceof ThvError
      ? `${attempt.reason.kind}: ${attempt.reason.message}`
      : attempt,
  );
  return [...new Set(reasons)];
}

describe('before the first setup', () => {
  test('there is nothing to describe, list, change or resolve', async () => {
    await using place = await openTestSecrets();
    const { secrets } = place;

    const failures = await failuresOf(
      secrets.describe(),
      secrets.list(),
      secrets.create('a', 'b'),
      secrets.update('a', 'b'),
      secrets.remove('a'),
      secrets.resolve({ name: 'a', target: 'A' }),
    );

    expect(failures).toEqual(['not-found: secrets are not set up']);
  });

  test('what is wrong with a secret is said first', async () => {
    await using place = await openTestSecrets();

    await expect(place.secrets.create('', 'b')).rejects.toMatchObject({ kind: 'invalid' });
  });
});

describe('the vault', () => {
  test('exists while secrets are kept in the encrypted file', async () => {
    await using place = await openTestSecrets({ keyring: memoryKeyring() });
    expect(place.secrets.vault).toBe(undefined);
    await place.secrets.setup({ provider_type: 'encrypted' });
    await place.secrets.vault?.set('tokens', 'own');

    const again = await place.open();

    expect(await again.vault?.get('tokens')).toBe('own');
    expect(await again.list()).toEqual([]);
    await expect(again.resolve({ name: '\0tokens', target: 'A' })).rejects.toMatchObject({
      kind: 'not-found',
    });
    await again.setup({ provider_type: 'none' });
    expect(again.vault).toBe(undefined);
  });
});

describe('a setup', () => {
  test('makes a provider the one to use, also for the next daemon', async () => {
    await using place = await openTestSecrets({ keyring: memoryKeyring() });

    const done = await place.secrets.setup({ provider_type: 'encrypted' });

    expect(done).toEqual({
      provider_type: 'encrypted',
      message: 'secrets are stored in an encrypted file',
    });
    expect(await readFile(place.paths.settings, 'utf8')).toBe(
      'secrets:\n  provider_type: encrypted\n  setup_completed: true\n',
    );
    expect(await (await place.open()).describe()).toEqual({
      name: 'default',
      provider_type: 'encrypted',
      capabilities: capabilitiesOf.encrypted,
      locked: false,
      has_password: false,
    });
    expect(place.events).toEqual([{ kind: 'provider' }]);
  });

  test('that is done again keeps everything that was stored', async () => {
    await using place = await openTestSecrets();
    const { secrets } = place;
    await secrets.setup({ provider_type: 'encrypted' });
    await secrets.create('token', 'value');
    await secrets.setup({ provider_type: 'none' });

    const done = await secrets.setup({ provider_type: 'encrypted' });

    expect(done.message).toContain('unlocked');
    expect(await secrets.resolve({ name: 'token', target: 'TOKEN' })).toBe('value');
  });

  test('that fails changes nothing', async () => {
    await using place = await openTestSecrets({ keyring: noKeyring });
    await place.secrets.setup({ provider_type: 'none' });

    await expect(place.secrets.setup({ provider_type: 'encrypted' })).rejects.toMatchObject({
      kind: 'invalid',
    });
    await expect(place.secrets.setup({ provider_type: '1password' })).rejects.toMatchObject({
      kind: 'unavailable',
    });

    expect(await place.secrets.describe()).toMatchObject({ provider_type: 'none' });
  });

  test('of anything but the encrypted file takes no password', async () => {
    await using place = await openTestSecrets();

    const setup = place.secrets.setup({ provider_type: 'none', password: 'pw' });

    await expect(setup).rejects.toMatchObject({ kind: 'invalid' });
  });

  test('gives way to TOOLHIVE_SECRETS_PROVIDER, and says so', async () => {
    await using place = await openTestSecrets({ env: { TOOLHIVE_SECRETS_PROVIDER: 'none' } });

    const { message } = await place.secrets.setup({ provider_type: 'encrypted' });

    expect(message).toContain('but TOOLHIVE_SECRETS_PROVIDER makes the daemon use none');
    expect(await place.secrets.describe()).toMatchObject({ provider_type: 'none' });
  });

  test.each(['nonsense', 'constructor'])('by TOOLHIVE_SECRETS_PROVIDER=%s is refused', async (type) => {
    await using place = await openTestSecrets({ env: { TOOLHIVE_SECRETS_PROVIDER: type } });

    await expect(place.secrets.setup({ provider_type: 'none' })).rejects.toMatchObject({ kind: 'invalid' });
  });

  test('of the original that says basic means the encrypted file', async () => {
    await using place = await openTestSecrets();
    await place.secrets.setup({ provider_type: 'encrypted' });
    await writeFile(place.paths.settings, 'secrets:\n  provider_type: basic\n  setup_completed: true\n');

    expect(await (await place.open()).describe()).toMatchObject({ provider_type: 'encrypted' });
  });
});

describe('secrets', () => {
  test('are stored, listed, replaced, resolved and removed', async () => {
    await using place = await openTestSecrets();
    const { secrets } = place;
    await secrets.setup({ provider_type: 'encrypted' });

    expect(await secrets.create('token', 'one')).toEqual({ key: 'token', message: 'secret token is stored' });
    expect(await secrets.update('token', 'two')).toMatchObject({ key: 'token' });
    expect(await secrets.list()).toEqual([{ key: 'token' }]);
    expect(await secrets.resolve({ name: 'token', target: 'TOKEN' })).toBe('two');
    await secrets.remove('token');

    expect(await secrets.list()).toEqual([]);
    expect(place.events).toEqual([
      { kind: 'provider' },
      { kind: 'set', name: 'token' },
      { kind: 'set', name: 'token' },
      { kind: 'removed', name: 'token' },
    ]);
  });

  test('are made once, however many ask at once', async () => {
    await using place = await openTestSecrets();
    await place.secrets.setup({ provider_type: 'encrypted' });

    const attempts = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => place.secrets.create('token', `value-${index}`)),
    );

    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(attempts[1]).toMatchObject({
      reason: { kind: 'conflict', message: 'secret token already exists' },
    });
  });

  test('that do not exist are not found', async () => {
    await using place = await openTestSecrets();
    await place.secrets.setup({ provider_type: 'encrypted' });

    const failures = await failuresOf(
      place.secrets.update('token', 'x'),
      place.secrets.remove('token'),
      place.secrets.resolve({ name: 'token', target: 'OTHER' }),
    );

    expect(failures).toEqual(['not-found: secret token not found']);
  });

  test.each([
    ['', 'value'],
    ['x'.repeat(257), 'value'],
    ['a,b', 'value'],
    ['a\nb', 'value'],
    ['a', ''],
    ['a', 'with\0nul'],
    ['a', 'ä'.repeat(32 * 1024 + 1)],
  ])('are refused as %j', async (key, value) => {
    await using place = await openTestSecrets();
    await place.secrets.setup({ provider_type: 'encrypted' });

    await expect(place.secrets.create(key, value)).rejects.toMatchObject({ kind: 'invalid' });
  });

  test.each(['op://vault/item/field', 'a b', '__proto__', '日本', 'x'.repeat(256)])(
    'may be named %s',
    async (key) => {
      await using place = await openTestSecrets();
      await place.secrets.setup({ provider_type: 'encrypted' });

      await place.secrets.create(key, 'v'.repeat(64 * 1024));

      expect(await place.secrets.list()).toEqual([{ key }]);
    },
  );

  test('cannot be changed in a provider that only reads', async () => {
    await using place = await openTestSecrets();
    await place.secrets.setup({ provider_type: 'environment' });

    const failures = await failuresOf(
      place.secrets.create('a', 'b'),
      place.secrets.update('a', 'b'),
      place.secrets.remove('a'),
      place.secrets.list(),
    );

    expect(failures).toEqual([
      'unsupported: secrets cannot be stored with the provider environment',
      'unsupported: secrets cannot be removed with the provider environment',
      'unsupported: secrets cannot be listed with the provider environment',
    ]);
  });
});

describe('the environment', () => {
  const env = { TOOLHIVE_SECRET_token: 'from outside' };

  test.each(['none', 'encrypted', 'environment'] as const)(
    'has what %s does not have',
    async (provider_type) => {
      await using place = await openTestSecrets({ env });
      await place.secrets.setup({ provider_type });

      expect(await place.secrets.resolve({ name: 'token', target: 'TOKEN' })).toBe('from outside');
    },
  );

  test('counts as having a secret, which can be replaced but not removed', async () => {
    await using place = await openTestSecrets({ env });
    const { secrets } = place;
    await secrets.setup({ provider_type: 'encrypted' });

    expect(await secrets.list()).toEqual([]);
    await expect(secrets.create('token', 'mine')).rejects.toMatchObject({ kind: 'conflict' });
    await expect(secrets.remove('token')).rejects.toMatchObject({ kind: 'not-found' });
    await secrets.update('token', 'mine');

    expect(await secrets.resolve({ name: 'token', target: 'TOKEN' })).toBe('mine');
  });

  test('is not asked when that is turned off', async () => {
    await using place = await openTestSecrets({ env: { ...env, TOOLHIVE_DISABLE_ENV_FALLBACK: 'true' } });
    await place.secrets.setup({ provider_type: 'none' });

    const value = place.secrets.resolve({ name: 'token', target: 'TOKEN' });

    await expect(value).rejects.toMatchObject({ kind: 'not-found' });
  });
});

describe('a reference', () => {
  test.each([
    ['token,target=TOKEN', { name: 'token', target: 'TOKEN' }],
    ['op://v/i/f,target=A', { name: 'op://v/i/f', target: 'A' }],
  ])('is read and written as %s', (text, reference) => {
    expect(parseReference(text)).toEqual(reference);
    expect(formatReference(reference)).toBe(text);
  });

  test.each(['canary', 'canary,target=', ',target=canary', 'a,b,target=canary', ''])(
    'is not %j, which is not repeated',
    (text) => {
      const read = () => parseReference(text);

      expect(read).toThrow(/NAME,target=VARIABLE/);
      expect(read).not.toThrow(/canary/);
    },
  );
});

describe('what is secret', () => {
  test('appears in no failure, no log line, no event and no list', async () => {
    const env = { OP_SERVICE_ACCOUNT_TOKEN: 'ops_canary', TOOLHIVE_SECRET_outside: 'canary' };
    await using place = await openTestSecrets({ env, keyring: noKeyring });
    const { secrets, paths } = place;
    const said: unknown[] = [];
    const provoke = async (work: Promise<unknown>): Promise<void> => {
      said.push(await work.catch((error: unknown) => error));
    };

    await provoke(secrets.setup({ provider_type: '1password', password: 'canary' }));
    await provoke(secrets.setup({ provider_type: '1password' }));
    await provoke(secrets.setup({ provider_type: 'encrypted', password: 'canary sings' }));
    await provoke(secrets.create('token', 'canary'));
    await provoke(secrets.create('token', 'canary'));
    await provoke(secrets.create('outside', 'canary'));
    await provoke(secrets.create('nul', 'canary\0'));
    await provoke(secrets.create('long', 'canary'.repeat(20_000)));
    await provoke(secrets.update('missing', 'canary'));
    await provoke(secrets.update('token', 'canary two'));
    await provoke(secrets.list());
    await provoke(secrets.describe());
    const locked = await place.open();
    await provoke(locked.setup({ provider_type: 'encrypted', password: 'canary, but wrong' }));
    await provoke(locked.update('token', 'canary'));
    await provoke(locked.describe());
    await provoke((await place.open({ env: { TOOLHIVE_SECRETS_PASSWORD: 'another canary' } })).list());
    await writeFile(paths.secrets, (await readFile(paths.secrets)).fill(0, 100, 120));
    await provoke(secrets.update('token', 'canary'));
    await provoke(secrets.setup({ provider_type: 'encrypted', password: 'canary sings' }));
    await writeFile(paths.secrets, 'no secrets at all, but long enough for the original to have written it');
    await provoke(secrets.setup({ provider_type: 'encrypted', password: 'canary sings' }));

    expect(said.filter((one) => one instanceof Error)).toHaveLength(13);
    expect(inspect([said, place.events, place.logged], { depth: 20, showHidden: true })).not.toContain(
      'canary',
    );
    expect(await readFile(paths.settings, 'utf8')).not.toContain('canary');
  });
});
