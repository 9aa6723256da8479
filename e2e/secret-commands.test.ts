import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { feed } from './testing/feed.ts';
import { openTerminal } from './testing/terminal.ts';
import { isListening, makeUser, processesWith, serve, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

const homes = openUsedHomes();
afterAll(() => homes[Symbol.asyncDispose]());

const password = 'correct horse battery staple';
const value = 'canary-4711';

let user: User;
beforeAll(async () => {
  user = await makeUser();
});
afterAll(() => user?.[Symbol.asyncDispose]());

test.each([
  [['list'], 4, /secrets are not set up\nHint: run thv secret setup/],
  [['provider', 'vault'], 2, /"vault" not found\nHint: use encrypted, 1password, none/],
  [['provider', 'encrypted'], 2, /OS keyring is not available.*\nHint: set a password with thv secret setup/],
  [['setup'], 2, /no terminal available\nHint: select the provider with --provider/],
])('before the first setup: secret %j is refused', async (words, exitCode, message) => {
  const { code, stdout, stderr } = await user.thv('secret', ...words);

  expect([code, stdout]).toEqual([exitCode, '']);
  expect(stderr).toMatch(message);
});

test('before the first setup, a secret without a value sets up nothing', async () => {
  const { code, stderr } = await feed(user, '', 'secret', 'set', 'token');

  expect(code).toBe(2);
  expect(stderr).toContain('a secret needs a value');
  expect((await user.thv('secret', 'list')).stderr).toContain('secrets are not set up');
});

describe('without a terminal', () => {
  test('the first secret sets up the encrypted file, which the next daemon opens', async () => {
    await using newcomer = await homes.take();

    const set = await feed(newcomer, `${value}\n`, 'secret', 'set', 'first');
    await newcomer.killDaemon();

    expect(set).toMatchObject({ code: 0, stdout: 'stored the secret first\n' });
    expect(set.stderr).toContain('This system has no keyring, so ToolHive generated the password');
    expect(await newcomer.mustThv('secret', 'get', 'first')).toBe(`${value}\n`);
  });

  test('the password comes from standard input, and so do values', async () => {
    proves('cli.secrets');
    const setup = await feed(user, `${password}\n`, 'secret', 'setup', '--provider', 'encrypted');
    const set = await feed(user, `${value}\n\n`, 'secret', 'set', 'token');

    expect(setup).toMatchObject({ code: 0, stdout: 'secrets are stored in an encrypted file\n' });
    expect(set).toMatchObject({ code: 0, stdout: 'stored the secret token\n' });
    expect(await user.mustThv('secret', 'get', 'token')).toBe(`${value}\n\n`);
    expect(await user.mustThv('secret', 'list')).toBe('- token\n');
    expect(JSON.parse(await user.mustThv('secret', 'list', '--format', 'json'))).toEqual([{ key: 'token' }]);
  });

  test('an existing secret gets the new value', async () => {
    await feed(user, 'another', 'secret', 'set', 'token');

    expect(await user.mustThv('secret', 'get', 'token')).toBe('another\n');
  });

  test.each([
    [['set', 'other'], '\n', 2, /a secret needs a value/],
    [['get', 'tokn'], '', 4, /secret tokn not found\nHint: did you mean token\?/],
    [['delete', 'toke'], '', 4, /secret toke not found\nHint: did you mean token\?/],
    [['setup', '--provider', 'encrypted'], 'x'.repeat(2000), 2, /at most 1024 characters/],
    [['setup', '--provider', 'encrypted'], '\n', 2, /the secrets password is missing\nHint: /],
    [['setup', '--provider', 'encrypted'], 'another password', 2, /wrong password for .*\nHint: /],
    [
      ['setup', '--change-password'],
      '\n',
      2,
      /a password is missing\nHint: on a system with a keyring, thv secret provider/,
    ],
    [['setup', '--change-password'], 'seven 7', 2, /at least 8 characters/],
    [['setup', '--change-password', '--provider', 'none'], '', 2, /none has no password/],
  ])('is refused: secret %j', async (words, input, exitCode, message) => {
    const { code, stdout, stderr } = await feed(user, input, 'secret', ...words);

    expect([code, stdout]).toEqual([exitCode, '']);
    expect(stderr).toMatch(message);
  });

  test('a secret is deleted', async () => {
    expect(await user.mustThv('secret', 'delete', 'token')).toBe('deleted the secret token\n');
    expect(await user.mustThv('secret', 'list')).toBe('No secrets stored.\n');
  });
});

test('a provider is tried before it is used', async () => {
  const { code, stderr } = await user.thv('secret', 'provider', '1password');

  expect([code, stderr]).toEqual([5, expect.stringContaining('OP_SERVICE_ACCOUNT_TOKEN')]);
  const { stdout } = await feed(user, value, 'secret', 'set', 'after');
  expect(stdout).toBe('stored the secret after\n');
  await user.mustThv('secret', 'delete', 'after');
});

describe('on a terminal', () => {
  test('a value is asked for, and never shown', async () => {
    const terminal = openTerminal(user, ['secret', 'set', 'typed']);
    await terminal.shows('The value of typed:');
    terminal.type(`${value}\r`);

    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).not.toContain(value);
    expect(await user.mustThv('secret', 'get', 'typed')).toBe(`${value}\n`);
  });

  test('the first secret sets up where secrets are kept', async () => {
    await using newcomer = await homes.take();
    const terminal = openTerminal(newcomer, ['secret', 'set', 'first']);
    await terminal.shows('New password for the secrets');
    terminal.type(`${password}\r`);
    await terminal.shows('Repeat the password:');
    terminal.type(`${password}\r`);
    await terminal.shows('The value of first:');
    terminal.type(`${value}\r`);

    expect(await terminal.ended).toBe(0);
    expect(await newcomer.mustThv('secret', 'get', 'first')).toBe(`${value}\n`);
  });

  test('a secret is deleted after a yes only', async () => {
    const unsure = openTerminal(user, ['secret', 'delete', 'typed']);
    await unsure.shows('Delete the secret typed? [y/N]');
    unsure.type('\r');
    const refused = await unsure.ended;
    const sure = openTerminal(user, ['secret', 'delete', 'typed']);
    await sure.shows('[y/N]');
    sure.type('y\r');

    expect([refused, await sure.ended]).toEqual([130, 0]);
    expect(await user.mustThv('secret', 'list')).toBe('No secrets stored.\n');
  });

  test('setup asks for the provider and twice for a new password', async () => {
    await using user = await homes.take();
    const terminal = openTerminal(user, ['secret', 'setup']);
    await terminal.shows('Where should ToolHive store secrets? [encrypted]');
    terminal.type('\r');
    await terminal.shows('New password for the secrets (at least 8 characters):');
    terminal.type(`${password}\r`);
    await terminal.shows('Repeat the password:');
    terminal.type(`${password}\r`);

    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain('secrets are stored in an encrypted file');
    expect(terminal.screen()).not.toContain(password);
  });

  test('setup takes no other password for that of the secrets, though they are open', async () => {
    const wrong = openTerminal(user, ['secret', 'setup', '--provider', 'encrypted']);
    await wrong.shows('Password for the secrets:');
    wrong.type('another password\r');
    const code = await wrong.ended;
    const right = await feed(user, password, 'secret', 'setup', '--provider', 'encrypted');

    expect([code, wrong.screen()]).toEqual([2, expect.stringContaining('wrong password for')]);
    expect(right.stdout).toBe('the encrypted file is unlocked, with all stored secrets\n');
  });

  test('setup changes the password when it is told to', async () => {
    const terminal = openTerminal(user, ['secret', 'setup', '--change-password']);
    await terminal.shows('New password for the secrets (at least 8 characters):');
    terminal.type(`new ${password}\r`);
    await terminal.shows('Repeat the password:');
    terminal.type(`new ${password}\r`);

    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain('the encrypted file has a new password');
  });

  test('setup changes nothing when the passwords differ', async () => {
    const terminal = openTerminal(user, ['secret', 'setup', '--change-password']);
    await terminal.shows('New password for the secrets');
    terminal.type('one\r');
    await terminal.shows('Repeat the password:');
    terminal.type('other\r');

    expect(await terminal.ended).toBe(2);
    expect(terminal.screen()).toContain('the passwords do not match');
  });

  test('setup asks once for the password of secrets that are locked', async () => {
    await feed(user, value, 'secret', 'set', 'kept');
    await user.api('POST', '/api/v1beta/hive/stop');
    await until(async () => !(await isListening(`${user.home}/.local/state/toolhive/hive.sock`)));
    const locked = await user.thv('secret', 'get', 'kept');
    const terminal = openTerminal(user, ['secret', 'setup', '--provider', 'encrypted']);
    await terminal.shows('Password for the secrets:');
    terminal.type(`new ${password}\r`);

    expect([locked.code, locked.stderr]).toEqual([5, expect.stringContaining('the secrets are locked')]);
    expect(await terminal.ended).toBe(0);
    expect(await user.mustThv('secret', 'get', 'kept')).toBe(`${value}\n`);
  });
});

test('a value is told over the socket of the daemon, and not over TCP', async () => {
  proves('cli.secrets.value');
  await using daemon = await serve(user);
  await feed(user, `new ${password}`, 'secret', 'setup', '--provider', 'encrypted');
  const path = '/api/v1beta/secrets/default/keys/kept/value';

  const overTcp = await fetch(`${daemon.base}${path}`);
  const overSocket = await user.api('GET', path);

  expect([overTcp.status, await overTcp.text()]).toEqual([404, expect.not.stringContaining(value)]);
  expect(JSON.parse(overSocket.text)).toEqual({ key: 'kept', value });
  expect(daemon.output()).not.toContain(value);
  const commands = (await processesWith(user.home)).map(({ command }) => command).join('\n');
  expect(commands).not.toMatch(new RegExp(`${value}|${password}`));
});

test('the keyring has nothing to forget where there is none', async () => {
  expect(await user.mustThv('secret', 'reset-keyring')).toMatch(/^the keyring contains no key/);
});

test('a provider that cannot be written refuses values, before anybody types one', async () => {
  const chosen = await user.mustThv('secret', 'provider', 'none');
  const { code, stderr } = await user.thv('secret', 'set', 'token');
  const reset = await user.thv('secret', 'reset-keyring');

  expect(chosen).toBe('no secrets are stored\n');
  expect([code, stderr]).toEqual([1, 'Error: secrets cannot be stored with the provider none\n']);
  expect(reset.code).toBe(1);
});
