import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ClientName } from '@toolhive/contract/client-application';
import { proves } from '@toolhive/testing/promises';
import { openTerminal } from './testing/terminal.ts';
import { testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

let user: User;
const cursorFile = (): Promise<string> => readFile(join(user.home, '.cursor/mcp.json'), 'utf8');
const registered = (): Promise<string> => user.mustThv('client', 'list-registered');

beforeAll(async () => {
  user = await openUsedHomes().take();
  await mkdir(join(user.home, '.cursor'));
  await mkdir(join(user.home, '.lmstudio'));
  await user.mustThv('group', 'create', 'team');
  await user.mustThv('run', testServer, '--name', 'echo', '--', 'echo');
});
afterAll(() => user?.[Symbol.asyncDispose]());

test('tells which applications are installed and registered', async () => {
  const text = await user.mustThv('client', 'status');
  const json = JSON.parse(await user.mustThv('client', 'status', '--format', 'json')) as object[];

  expect(text).toMatch(/^CLIENT TYPE +INSTALLED +REGISTERED +PRODUCT\n/);
  expect(text).toMatch(/^cursor +yes +no +Cursor editor$/m);
  expect(text).toMatch(/^goose +no +no +Goose AI agent$/m);
  expect(json).toHaveLength(ClientName.options.length);
  expect(json).toContainEqual({
    client_type: 'cursor',
    product: 'Cursor editor',
    installed: true,
    registered: false,
  });
});

test('says that none is registered', async () => {
  expect(await registered()).toMatch(/^No clients are registered\./);
});

test('registers an application, whose file then names the workloads of the group', async () => {
  const out = await user.mustThv('client', 'register', 'cursor');
  await user.mustThv('client', 'register', 'lm-studio', '--group', 'default,team');

  expect(out).toBe('cursor can use the workloads in default\n');
  expect(await cursorFile()).toMatch(/http:\/\/localhost:\d+\/mcp/);
  expect(await registered()).toBe(
    'CLIENT TYPE   GROUPS\ncursor        default\nlm-studio     default, team\n',
  );
});

test('removes an application from one group, or from all of them', async () => {
  await user.mustThv('client', 'remove', 'lm-studio', '--group', 'team');
  const between = await registered();
  const out = await user.mustThv('client', 'remove', 'cursor');

  expect(between).toMatch(/^lm-studio +default$/m);
  expect(out).toBe('cursor can no longer use any workloads\n');
  expect(await registered()).not.toContain('cursor');
  expect(await cursorFile()).not.toContain('echo');
});

test('says when entries could not be taken out of a file, and takes them out later', async () => {
  await user.mustThv('client', 'register', 'cursor');
  const whole = await cursorFile();
  await writeFile(join(user.home, '.cursor/mcp.json'), whole.slice(0, -3));

  const refused = await user.thv('client', 'remove', 'cursor');
  const status = await user.thv('client', 'status');
  const afterwards = await registered();
  await writeFile(join(user.home, '.cursor/mcp.json'), whole);
  const again = await user.mustThv('client', 'remove', 'cursor');

  expect([refused.code, refused.stdout]).toEqual([5, '']);
  expect(refused.stderr).toMatch(
    /cursor is no longer registered, but its configuration file still contains workloads: .*mcp\.json.*\nHint: fix the file/,
  );
  expect(status.stderr).toMatch(/^cursor is not up to date: .*mcp\.json/m);
  expect(afterwards).not.toContain('cursor');
  expect(again).toBe('cursor can no longer use any workloads\n');
  expect(await cursorFile()).not.toContain('echo');
});

test.each([
  [
    ['register', 'cursr'],
    2,
    /client "cursr" not found.*\nHint: did you mean cursor\? The known clients are roo-code, /,
  ],
  [['register', 'claude'], 2, /Hint: did you mean claude-code or claude-desktop\?/],
  [['remove', 'vim'], 2, /Hint: The known clients are roo-code, /],
  [['register', 'cursor', '--group', 'unheard-of'], 4, /group unheard-of not found/],
  [['setup'], 2, /no terminal available\nHint: use `thv client register CLIENT/],
])('refuses: client %j', async (words, exitCode, message) => {
  const { code, stderr } = await user.thv('client', ...words);

  expect(code).toBe(exitCode);
  expect(stderr).toMatch(message);
});

describe('setup, with a keyboard', () => {
  test('chooses groups first, and then the applications that are installed', async () => {
    proves('cli.clients');
    const terminal = openTerminal(user, ['client', 'setup']);
    await terminal.shows('Which groups?\n> [x] default\n  [ ] team');
    terminal.type('j \r');
    await terminal.shows('Which clients can use the workloads in default, team?');
    await terminal.shows('> [ ] cursor (Cursor editor)\n  [ ] lm-studio (LM Studio application)');
    terminal.type(' \u001b[B \r');

    expect(await terminal.ended).toBe(0);
    expect(await registered()).toMatch(/^cursor +default, team\nlm-studio +default, team$/m);
  });

  test('shows who sees the groups already, and takes that away again', async () => {
    const terminal = openTerminal(user, ['client', 'setup']);
    await terminal.shows('> [x] default');
    terminal.type('\r');
    await terminal.shows('> [x] cursor');
    terminal.type(' \r');

    expect(await terminal.ended).toBe(0);
    expect(terminal.screen()).toContain('cursor can no longer use the workloads in default');
    expect(await registered()).toMatch(/^cursor +team\nlm-studio +default, team$/m);
  });

  test.each([
    ['q', 'q'],
    ['Ctrl-C', '\u0003'],
  ])('changes nothing when it is left with %s', async (_key, typed) => {
    const before = await registered();
    const terminal = openTerminal(user, ['client', 'setup']);
    await terminal.shows('> [x] default');
    terminal.type('\r');
    await terminal.shows('Which clients');
    terminal.type(` ${typed}`);

    expect(await terminal.ended).toBe(130);
    expect(await registered()).toBe(before);
  });
});
