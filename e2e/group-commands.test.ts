import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { feed } from './testing/feed.ts';
import { connectTo } from './testing/mcp.ts';
import { useRegistry } from './testing/registry.ts';
import { openTerminal } from './testing/terminal.ts';
import { makeUser, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

const server = { description: 'A server for tests.', image: testServer, transport: 'stdio', args: ['echo'] };
const needy = {
  ...server,
  env_vars: [{ name: 'TOKEN', description: 'Something that it needs.', required: true, secret: true }],
};

let user: User;
beforeAll(async () => {
  user = await makeUser();
  await useRegistry(user, {
    version: '1.0.0',
    last_updated: '2026-01-01T00:00:00Z',
    servers: {},
    groups: [
      { name: 'pair', description: 'Two of them.', servers: { 'pair-a': server, 'pair-b': server } },
      { name: 'half', description: 'One lacks something.', servers: { 'half-a': server, 'half-b': needy } },
      { name: 'empty', description: 'Nothing at all.' },
    ],
  });
});
afterAll(() => user?.[Symbol.asyncDispose]());

const names = async (...flags: string[]): Promise<string[]> => {
  const listed = JSON.parse(await user.mustThv('list', '--all', '--format', 'json', ...flags));
  return (listed as { name: string }[]).map(({ name }) => name);
};

test('makes, lists and removes groups', async () => {
  const created = await user.mustThv('group', 'create', 'my group');
  await user.mustThv('group', 'create', '__mcp-optimizer__');

  expect(created).toBe('created the group my group\n');
  expect(await user.mustThv('group', 'list')).toBe('NAME\ndefault\nmy group\n');
  expect(JSON.parse(await user.mustThv('group', 'list', '--format', 'json'))).toMatchObject([
    { name: 'default' },
    { name: 'my group' },
  ]);
  expect(await user.mustThv('group', 'rm', 'my group')).toBe('removed the group my group\n');
});

test('renames and describes a group, and keeps its workloads', async () => {
  await user.mustThv('group', 'create', 'papers');
  await user.mustThv('run', '--name', 'kept', '--group', 'papers', testServer, '--', 'echo');

  const renamed = await user.mustThv('group', 'edit', 'papers', '--rename', 'reading');
  const described = await user.mustThv('group', 'edit', 'reading', '--description', 'Papers and notes');
  const groups = await user.mustThv('group', 'list', '--format', 'json');

  expect(renamed).toBe('renamed the group papers to reading\n');
  expect(described).toBe('changed the group reading\n');
  expect(JSON.parse(groups)).toContainEqual(
    expect.objectContaining({ name: 'reading', description: 'Papers and notes' }),
  );
  expect(await names('--group', 'reading')).toEqual(['kept']);
  await user.mustThv('group', 'edit', 'reading', '--description', '');
  expect(await user.mustThv('group', 'list', '--format', 'json')).not.toContain('Papers');
  await user.mustThv('group', 'rm', 'reading', '--with-workloads', '--yes');
});

test.each([
  [['create', 'default'], 3, /group default already exists/],
  [['create', 'Upper'], 2, /lower-case/],
  [['rm', 'defalt'], 4, /Hint: did you mean default\?/],
  [['edit', 'default'], 2, /--rename, --description, --meta, --endpoint, or --tool is required/],
  [['edit', 'default', '--rename', 'other'], 2, /default/],
  [['edit', 'defalt', '--description', 'x'], 4, /Hint: did you mean default\?/],
  [['rm', 'default', '--yes'], 2, /default cannot be removed/],
  [['run', 'piar'], 4, /the registry has no group piar\nHint: did you mean pair\?/],
  [['run', 'empty'], 2, /has no servers/],
  [['run', 'pair', '--env', 'other.A=canary'], 2, /--env takes SERVER\.NAME=VALUE(?!.*canary)/s],
  [['run', 'pair', '--secret', 'canary'], 2, /--secret takes NAME,target=SERVER\.VARIABLE(?!.*canary)/s],
])('refuses: group %j', async (words, exitCode, message) => {
  const { code, stderr } = await user.thv('group', ...words);

  expect(code).toBe(exitCode);
  expect(stderr).toMatch(message);
});

describe('a group of the registry', () => {
  test('runs as a whole, each server with its own variables', async () => {
    proves('cli.groups');
    const out = await user.mustThv('group', 'run', 'pair', '--env', 'pair-a.COLOUR=blue');

    expect(out).toMatch(/^pair-a runs at http\S+\npair-b runs at http\S+\n$/);
    expect(await names('--group', 'pair')).toEqual(['pair-a', 'pair-b']);
    const [first, second] = [...out.matchAll(/http\S+/g)].map(([url]) => url);
    await using one = await connectTo(first ?? '');
    await using other = await connectTo(second ?? '');
    expect(JSON.parse((await one.call('environment')).text)).toMatchObject({ COLOUR: 'blue' });
    expect(JSON.parse((await other.call('environment')).text)).not.toHaveProperty('COLOUR');
  });

  test('is not run twice, nor over existing workloads', async () => {
    const { code, stderr } = await user.thv('group', 'run', 'pair');

    expect(code).toBe(3);
    expect(stderr).toContain('workloads have the same name as a server in the group: pair-a, pair-b');
  });

  test('runs what can be run, tells what cannot, and exits non-zero', async () => {
    const { code, stdout, stderr } = await user.thv('group', 'run', 'half');

    expect(code).toBe(2);
    expect(stdout).toMatch(/^half-a runs at http\S+\n$/);
    expect(stderr).toMatch(/half-b: half-b needs TOKEN\n.*1 of 2 workloads could not be run: half-b/s);
  });

  test('hands secrets to the server that they are for', async () => {
    await user.mustThv('rm', 'half-a');
    await user.mustThv('group', 'rm', 'half');

    const { stderr } = await user.thv('group', 'run', 'half', '--secret', 'stored,target=half-b.TOKEN');

    expect(stderr).toContain('half-b: secrets are not set up');
  });
});

describe('a group with workloads', () => {
  test('is not removed without a terminal for the question', async () => {
    const { code, stderr } = await feed(user, '', 'group', 'rm', 'pair');

    expect(code).toBe(2);
    expect(stderr).toMatch(
      /its 2 workloads \(pair-a, pair-b\) will move to the group default\nHint: .*--yes/,
    );
    expect(await names('--group', 'pair')).toHaveLength(2);
  });

  test('is kept when the answer on standard input is no', async () => {
    const { code, stderr } = await feed(user, 'n\n', 'group', 'rm', 'pair', '--with-workloads');

    expect([code, stderr]).toEqual([130, expect.stringContaining('[y/N]')]);
    expect(await names('--group', 'pair')).toHaveLength(2);
  });

  test('is removed when the answer on standard input is yes', async () => {
    await user.mustThv('group', 'create', 'piped');
    await user.mustThv('run', testServer, '--name', 'piped-a', '--group', 'piped');

    const { code, stdout } = await feed(user, 'y\n', 'group', 'rm', 'piped', '--with-workloads');

    expect([code, stdout]).toEqual([0, 'removed the group piped\n']);
    expect(await names()).not.toContain('piped-a');
  });

  test('is kept when the answer is no', async () => {
    const terminal = openTerminal(user, ['group', 'rm', 'pair', '--with-workloads']);
    await terminal.shows('its 2 workloads (pair-a, pair-b) will be removed. [y/N]');

    terminal.type('n\r');

    expect(await terminal.ended).toBe(130);
    expect(await names('--group', 'pair')).toHaveLength(2);
  });

  test('is removed when the answer is yes, and its workloads move', async () => {
    const terminal = openTerminal(user, ['group', 'rm', 'pair']);
    await terminal.shows('will move to the group default. [y/N]');

    terminal.type('y\r');

    expect(await terminal.ended).toBe(0);
    expect(await names('--group', 'default')).toEqual(expect.arrayContaining(['pair-a', 'pair-b']));
  });

  test('is removed with its workloads without a question, if that is said', async () => {
    await user.mustThv('group', 'rm', 'half', '--with-workloads', '--yes');

    expect(await names()).not.toContain('half-a');
    expect(await user.mustThv('group', 'list')).toBe('NAME\ndefault\n');
  });
});
