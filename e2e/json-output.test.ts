// @suite e2e (in depth)
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { settings } from '@toolhive/contract/settings';
import { openRemoteServer } from '@toolhive/remote/testing/remote-server';
import { selfSigned } from '@toolhive/runtime/testing/self-signed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { program } from '@toolhive/cli/commands';
import { proves } from '@toolhive/testing/promises';
import { feed } from './testing/feed.ts';
import { goodToken, installNgrok } from './testing/ngrok.ts';
import { startCommand } from './testing/running.ts';
import { openTerminal } from './testing/terminal.ts';
import { makeUser, testPackage, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

/** The commands whose shapes were seen; in the end, all that have one. */
const seen = new Set<string>();

/** Shown by the tests of those commands, because they need other programs. */
const elsewhere = [
  'inspector',
  'exec',
  'service install',
  'service uninstall',
  'cluster migrate',
  'cluster pins',
  'cluster verify-audit',
];

const server = { description: 'A server for tests.', image: testServer, transport: 'stdio', args: ['echo'] };
const url = expect.stringMatching(/^http:\/\/\S+$/) as string;
const text = expect.any(String) as string;
const list = expect.any(Array) as unknown[];

let user: User;
beforeAll(async () => {
  user = await makeUser();
  await mkdir(join(user.home, '.cursor'));
  await writeFile(join(user.home, 'ca.pem'), selfSigned('example').certificate);
  await writeFile(
    join(user.home, 'registry.json'),
    JSON.stringify({
      version: '1.0.0',
      last_updated: '2026-01-01T00:00:00Z',
      servers: { lone: server },
      groups: [
        { name: 'pair', description: 'Two of them.', servers: { 'pair-a': server, 'pair-b': server } },
      ],
    }),
  );
});
afterAll(() => user?.[Symbol.asyncDispose]());

/** Runs a command for a program. All that it prints has to be one document. */
async function jsonOf(line: string, ...more: string[]): Promise<unknown> {
  const words = [...line.split(' '), ...more];
  note(words);
  return JSON.parse(await user.mustThv(...withFormat(words))) as unknown;
}

function withFormat(words: readonly string[]): string[] {
  const end = words.indexOf('--');
  return words.toSpliced(end === -1 ? words.length : end, 0, '--format', 'json');
}

function note(words: readonly string[]): void {
  const [longest] = program.commands
    .map(({ path }) => path)
    .filter((path) => `${words.join(' ')} `.startsWith(`${path} `))
    .toSorted((one, other) => other.length - one.length);
  seen.add(longest ?? words.join(' '));
}

describe('one document tells', () => {
  test.each([
    [
      'ui --no-browser',
      { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/ui\/#code=[\w-]{43}$/) as string },
    ],
    [
      'service status',
      { installed: false, enabled: false, running: false, pid: null, manager: text, path: text },
    ],
    ['version', { version: text, node_version: process.version, platform: text }],
    ['list', []],
    ['stop --all', []],
    ['start --all', []],
    ['restart --all', []],
    ['rm --all --yes', []],
    ['runtime check', { chosen: 'process', runtimes: list }],
    ['doctor', { subject: 'machine', findings: list, healthy: true }],
    ['logs prune', []],
    ['group create team', { name: 'team', registered_clients: [] }],
    [
      'group list',
      [
        { name: 'default', registered_clients: [] },
        { name: 'team', registered_clients: [] },
      ],
    ],
    [
      'client status',
      expect.arrayContaining([
        { client_type: 'cursor', product: 'Cursor editor', installed: true, registered: false },
      ]),
    ],
    ['client register cursor', { name: 'cursor', registered: true, groups: ['default'] }],
    [
      'client preview cursor',
      {
        path: text,
        exists: expect.any(Boolean) as boolean,
        changes: list,
        diff: expect.any(String) as string,
      },
    ],
    ['client list-registered', [{ name: 'cursor', groups: ['default'] }]],
    ['client remove cursor', { name: 'cursor', registered: false, groups: [] }],
    ['adopt --dry-run', { servers: [], files: [], problems: [] }],
    ['adopt --list', { adoptions: [] }],
    [
      'build npx://toolhive-test-servers --dry-run',
      { dockerfile: expect.stringContaining('FROM ') as string },
    ],
    ['group edit team --description Papers', { name: 'team', description: 'Papers', registered_clients: [] }],
    [
      'group info team',
      {
        name: 'team',
        description: 'Papers',
        registered_clients: [],
        meta: false,
        workloads: [],
        tools: 0,
        listing_tokens: 0,
        meta_listing_tokens: expect.any(Number) as number,
      },
    ],
    [
      'tools --group team',
      { tools: [], listing_tokens: 0, meta_listing_tokens: expect.any(Number) as number },
    ],
    ['group rm team', { name: 'team', removed_workloads: [], moved_workloads: [] }],
  ])('%s', async (line, shape) => {
    proves('cli.json');
    expect(await jsonOf(line)).toEqual(shape);
  });

  test('what is written to a file', async () => {
    const path = join(user.home, 'recipe');

    expect(await jsonOf('build npx://toolhive-test-servers --output', path)).toEqual({ file: path });
  });

  test('a project', async () => {
    const path = join(user.home, 'toolhive.yaml');
    await writeFile(path, `version: 1\nservers:\n  shared:\n    source: ${testServer}\n    args: [echo]\n`);
    const shared = { name: 'shared', workload: 'shared', notes: list };

    const project = text;
    expect(await jsonOf('up', path, '--yes')).toEqual({
      project,
      servers: [{ ...shared, action: 'create', url }],
      lock: text,
    });
    expect(await jsonOf('down', path, '--yes')).toEqual({
      servers: [{ name: 'shared', workload: 'shared' }],
      kept_secrets: [],
    });
  });

  test.each(settings.map(({ name, kind, example }) => ({ name, kind, example })))(
    'the setting $name',
    async ({ name, kind, example }) => {
      const files: Partial<Record<string, string>> = { certificate: 'ca.pem', registry: 'registry.json' };
      const file = files[kind];
      const line = (verb: string): string =>
        name.startsWith('otel-')
          ? `config otel ${verb}-${name.slice('otel-'.length)}`
          : `config ${verb}-${name}`;

      const set = await jsonOf(line('set'), file === undefined ? example : join(user.home, file));
      const got = await jsonOf(line('get'));
      const unset = await jsonOf(line('unset'));

      expect(set).toMatchObject({ name, title: text, summary: text });
      expect(set).toEqual(got);
      expect(unset).toEqual({ ...(set as object), value: null });
    },
  );

  test('the registry', async () => {
    await user.mustThv('config', 'set-registry', join(user.home, 'registry.json'));

    expect(await jsonOf('registry list')).toMatchObject([{ name: 'lone', image: testServer }]);
    expect(await jsonOf('registry info lone')).toMatchObject({ name: 'lone', image: testServer });
    expect(await jsonOf('search tests')).toMatchObject([{ name: 'lone' }]);
  });

  test('secrets, and a value only where it is asked for', async () => {
    const type = { name: 'default', provider_type: 'encrypted', locked: false };
    const setup = await fed('correct horse battery', 'secret setup --provider encrypted');
    const set = await fed('canary-4711', 'secret set token');

    expect(setup).toMatchObject(type);
    expect(set).toEqual({ key: 'token' });
    expect(await jsonOf('secret list')).toEqual([{ key: 'token' }]);
    expect(await jsonOf('secret get token')).toEqual({ key: 'token', value: 'canary-4711' });
    expect(await jsonOf('secret delete token --yes')).toEqual({ key: 'token' });
    expect(await jsonOf('secret reset-keyring')).toMatchObject(type);
    expect(await jsonOf('secret provider none')).toMatchObject({ provider_type: 'none' });
  });

  test('what becomes of workloads, each of them', async () => {
    const ran = await jsonOf('run', testServer, '--name', 'one', '--', 'echo');
    const status = await jsonOf('status one');
    const group = await jsonOf('group run pair');
    const stopped = await jsonOf('stop one pair-a');
    const restarted = await jsonOf('restart one');
    const tools = await jsonOf('mcp list tools --server one');
    const all = await jsonOf('mcp list --server one');
    const resources = await jsonOf('mcp list resources --server one');
    const prompts = await jsonOf('mcp list prompts --server one');
    const skills = await jsonOf('mcp list skills --server one');
    const called = await jsonOf('mcp call one echo message=hello');
    const removed = await jsonOf('rm one pair-a');
    const withGroup = await jsonOf('group rm pair --with-workloads --yes');

    expect(called).toMatchObject({ content: [{ type: 'text', text: 'hello' }] });
    expect(ran).toMatchObject({ name: 'one', status: 'running', url });
    expect(status).toMatchObject({ name: 'one', status: 'running', url, transport: 'stdio', remote: false });
    expect(group).toEqual([
      { name: 'pair-a', done: true, url },
      { name: 'pair-b', done: true, url },
    ]);
    expect(stopped).toEqual([
      { name: 'one', done: true },
      { name: 'pair-a', done: true },
    ]);
    expect(restarted).toEqual([{ name: 'one', done: true, url }]);
    expect(tools).toMatchObject({ tools: list });
    expect(all).toEqual({ tools: list, resources: list, resourceTemplates: list, prompts: list, skills: [] });
    expect([resources, prompts, skills]).toEqual([
      { resources: list, resourceTemplates: list },
      { prompts: list },
      { skills: [] },
    ]);
    expect(removed).toEqual([
      { name: 'one', done: true },
      { name: 'pair-a', done: true },
    ]);
    expect(withGroup).toEqual({ name: 'pair', removed_workloads: ['pair-b'], moved_workloads: [] });
  });

  test('the audit log', async () => {
    const record = expect.objectContaining({ msg: 'audit_event', previous: text }) as object;

    expect(await jsonOf('audit --limit 1')).toEqual([{ id: expect.any(Number) as number, record }]);
    expect(await jsonOf('audit verify')).toEqual({ intact: true, chains: list });
  });

  test('what policies allow, and what they deny', async () => {
    const policies = {
      version: '1.0',
      type: 'cedarv1',
      cedar: { policies: ['permit(principal, action, resource == Tool::"echo");'] },
    };
    const file = join(user.home, 'policies.json');
    await writeFile(file, JSON.stringify(policies));
    await user.mustThv('run', testServer, '--name', 'governed', '--authz-config', file, '--', 'echo');

    const allowed = await jsonOf('authz check governed --principal ada --tool echo');
    const denied = await user.thv(
      ...'authz check governed --principal ada --tool read --format json'.split(' '),
    );

    expect(allowed).toMatchObject({ allowed: true, policies: [{ id: 'policy0' }] });
    expect([denied.code, JSON.parse(denied.stdout)]).toMatchObject([1, { allowed: false, policies: [] }]);
    expect(JSON.parse(denied.stderr)).toMatchObject({ kind: 'forbidden' });
    await user.mustThv('rm', '--yes', 'governed');
  });

  test('what a server may access, and what it tried to reach', async () => {
    await user.mustThv('run', testServer, '--name', 'ruled', '--permission-profile', 'none', '--', 'echo');
    const rules = (hosts: string[]) => ({
      permissions: { network: { kind: 'rules', hosts, ports: [80, 443] } },
    });

    expect(await jsonOf('permission allow ruled a.example b.example')).toMatchObject(
      rules(['a.example', 'b.example']),
    );
    expect(await jsonOf('permission deny ruled b.example')).toMatchObject(rules(['a.example']));
    expect(await jsonOf('permission show ruled')).toMatchObject(rules(['a.example']).permissions);
    expect(await jsonOf('network ruled')).toEqual([]);
    note(['permission', 'tighten']);
    const tightened = await user.thv('permission', 'tighten', 'ruled', '--format', 'json');
    expect([tightened.code, JSON.parse(tightened.stderr)]).toEqual([
      3,
      expect.objectContaining({ kind: 'conflict', message: 'ruled has not connected to any host yet' }),
    ]);
    expect(await jsonOf('learn ruled --for 1h')).toMatchObject({
      restarted: false,
      until: expect.stringMatching(/^\d{4}-/) as string,
    });
    expect(await jsonOf('learn ruled --stop')).toMatchObject({ applied: false, network: { hosts: [] } });
    expect(await jsonOf('learn ruled --stop --yes')).toMatchObject({ applied: true, restarted: true });
    await user.mustThv('rm', 'ruled');
  });

  test('what a server has changed about its tools', async () => {
    await user.mustThv('run', testServer, '--name', 'pinned', '--', 'echo');
    await user.mustThv('mcp', 'list', 'tools', '--server', 'pinned');

    expect(await jsonOf('pin show pinned')).toMatchObject({ mode: 'warn', pending: 0 });
    expect(await jsonOf('pin approve pinned --yes')).toEqual({ decided: 0, pending: 0 });
    expect(await jsonOf('pin dismiss pinned --yes')).toEqual({ decided: 0, pending: 0 });
    expect(await jsonOf('pin mode pinned block')).toEqual({ mode: 'block', restarted: false });
    await user.mustThv('rm', 'pinned');
  });

  test('how a server is used, and what it uses', async () => {
    await user.mustThv('run', testServer, '--name', 'used', '--', 'echo');
    await user.mustThv('mcp', 'call', 'used', 'echo', 'message=hello');

    expect(await jsonOf('traffic used --item echo')).toMatchObject([
      { method: 'tools/call', kind: 'tool', name: 'echo', outcome: 'ok', source: 'client' },
    ]);
    expect(await jsonOf('traffic used --since 1h --search ECHO --client toolhive')).toMatchObject([
      { name: 'echo', is_own_read: false },
    ]);
    expect(await jsonOf('traffic used --until 1h')).toEqual([]);
    const number = expect.any(Number) as number;
    expect(await jsonOf('top used')).toMatchObject([
      {
        name: 'used',
        runtime: 'process',
        memory_bytes: number,
        cpu_percent: number,
        processes: number,
        errors: 0,
      },
    ]);
    expect(await jsonOf('top used --since 1h')).toMatchObject([
      { name: 'used', tools: [{ name: 'echo', calls: 1, errors: 0, p50_ms: number }] },
    ]);
    expect(await jsonOf('top used --since 2h --until 1h')).toMatchObject([{ calls: 0, tools: [] }]);
    await user.mustThv('rm', 'used');
  });

  test('pack', async () => {
    const directory = join(user.home, 'packed');
    const server = { type: 'node', entry_point: 'index.js', mcp_config: { command: 'node' } };
    const manifest = {
      manifest_version: '0.3',
      name: 'notes',
      version: '1.0.0',
      description: 'x',
      author: { name: 'Ada' },
      server,
    };
    await mkdir(directory);
    await writeFile(join(directory, 'manifest.json'), JSON.stringify(manifest));
    await writeFile(join(directory, '.env'), 'KEY=1');

    const file = join(user.home, 'notes.mcpb');
    expect(await jsonOf(`pack ${directory} -o ${file}`)).toEqual({
      file,
      name: 'notes',
      version: '1.0.0',
      files: ['manifest.json'],
      omitted: ['.env'],
    });
  });

  test('which servers have a newer version', async () => {
    await user.mustThv('run', testServer, '--name', 'newest', '--', 'echo');

    expect(await jsonOf('outdated newest')).toMatchObject([{ name: 'newest', outdated: false }]);
    expect(await jsonOf('upgrade newest')).toMatchObject({ name: 'newest', upgraded: false });
    await user.mustThv('rm', 'newest');
  });

  test('which client has access to which group, after a choice with the keyboard', async () => {
    note(['client', 'setup']);
    const terminal = openTerminal(user, ['client', 'setup', '--format', 'json']);
    await terminal.shows('> [ ] cursor');
    terminal.type(' \r');

    expect(await terminal.ended).toBe(0);
    const document = terminal.screen().slice(terminal.screen().indexOf('[\n'));
    expect(JSON.parse(document)).toEqual([{ name: 'cursor', registered: true, groups: ['default'] }]);
  });
});

describe('a line for each thing, while a command runs:', () => {
  test('what a server wrote, and writes from now on', async () => {
    await user.mustThv('run', testServer, '--name', 'loud', '--', 'chatty');
    note(['logs']);
    await using following = startCommand(user, ['logs', 'loud', '--follow', '--format', 'json']);
    const first = await following.printed(/^(\{.+)\n/);
    const now = await user.mustThv('logs', 'loud', '--format', 'json');

    expect(JSON.parse(first)).toEqual({ line: text });
    expect(
      now
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toContainEqual(JSON.parse(first));
  });

  test('a workload in the foreground, and what it writes', async () => {
    await using staying = startCommand(
      user,
      withFormat(['run', testServer, '--name', 'stays', '--foreground', '--', 'chatty']),
    );
    const first = await staying.printed(/^(\{.+\n\{.+)\n/);
    await staying.end('SIGINT');

    const [workload, line] = first.split('\n').map((each) => JSON.parse(each) as unknown);
    expect([workload, line]).toEqual([expect.objectContaining({ name: 'stays', url }), { line: text }]);
  });

  test.each([
    ['mcp serve --port 0', { url }],
    [
      'serve --port 0',
      {
        version: text,
        api: url,
        openapi: url,
        ui: url,
        health: url,
        socket: text,
        runtime: 'process',
        workloads: expect.any(Number) as number,
      },
    ],
  ])('%s is ready', async (line, shape) => {
    await using other = await makeUser();
    note(line.split(' '));
    await using command = startCommand(other, withFormat(line.split(' ')));

    expect(JSON.parse(await command.printed(/^(\{.+)\n/))).toEqual(shape);
    await command.end('SIGINT');
    expect(command.stdout().trimEnd().split('\n')).toHaveLength(1);
  });

  test('proxy is ready', async () => {
    await using remote = await openRemoteServer('legacy');
    note(['proxy']);
    await using command = startCommand(user, withFormat(['proxy', 'somewhere', '--target-uri', remote.url]));

    expect(JSON.parse(await command.printed(/^(\{.+)\n/))).toEqual({ name: 'somewhere', url });
  });

  test('proxy tunnel is open', async () => {
    await using ngrok = await installNgrok();
    note(['proxy', 'tunnel']);
    const words = 'proxy tunnel http://127.0.0.1:1/mcp shown --tunnel-provider ngrok'.split(' ');
    await using command = startCommand(user, withFormat(words), { ...ngrok.env, NGROK_AUTHTOKEN: goodToken });
    const dry = await jsonOf(words.join(' '), '--provider-args', '{"dry-run":true,"auth-token":"x"}');

    expect(JSON.parse(await command.printed(/^(\{.+)\n/))).toEqual({ name: 'shown', url });
    expect(dry).toEqual({ command: expect.arrayContaining(['ngrok', 'http']) as string[] });
  });
});

describe('a failure is one line of JSON on standard error,', () => {
  test.each([
    [
      'restart nobody',
      4,
      { kind: 'not-found', message: text, hint: text },
      [{ name: 'nobody', done: false, error: { kind: 'not-found', message: text, hint: text } }],
    ],
    ['registry info lonee', 4, { kind: 'not-found', message: text, hint: text }, undefined],
    ['list --unheard-of', 2, { kind: 'invalid', message: text, hint: text }, undefined],
    ['group create default', 3, { kind: 'conflict', message: text, hint: text }, undefined],
  ])('and the exit code is the same: %s', async (line, exitCode, failure, printed) => {
    const { code, stdout, stderr } = await user.thv(...line.split(' '), '--format', 'json');

    expect([code, JSON.parse(stderr)]).toEqual([exitCode, failure]);
    expect(stdout === '' ? undefined : JSON.parse(stdout)).toEqual(printed);
  });
});

test.each([
  ['logs luod', 'loud'],
  ['status luod', 'loud'],
  ['inspector lod', 'loud'],
  ['mcp list --server luod', 'loud'],
  ['list --group defualt', 'default'],
  ['run fetch --group defalt', 'default'],
  ['registry info lnoe', 'lone'],
])('%s is told which name was meant', async (line, name) => {
  const { code, stderr } = await user.thv(...line.split(' '));

  expect([code, stderr]).toEqual([4, expect.stringContaining(`\nHint: did you mean ${name}?\n`)]);
});

test('an import of a client configuration', async () => {
  const file = join(user.home, 'client.json');
  const entry = { command: 'npx', args: ['-y', testPackage, 'echo'] };
  await writeFile(file, JSON.stringify({ mcpServers: { imported: entry } }));

  const dry = await jsonOf(`import ${file} --dry-run`);
  const done = await jsonOf(`import ${file}`);
  await user.mustThv('rm', 'imported');

  const command = `thv run --name imported npx://${testPackage} -- echo`;
  expect(dry).toEqual([{ name: 'imported', done: true, command }]);
  expect(done).toEqual([{ name: 'imported', done: true, url }]);
});

test('translated chart values and the values that were left out are one object', async () => {
  const file = join(user.home, 'values.yaml');
  await writeFile(file, 'operator: { replicaCount: 2, features: { experimental: false } }');

  expect(await jsonOf(`cluster translate-values ${file}`)).toEqual({
    values: { operator: { replicaCount: 2 } },
    dropped: [{ path: 'operator.features.experimental', reason: text }],
  });
});

test('every command that has a format was seen', () => {
  const formatted = program.commands.filter(({ unformatted }) => unformatted === undefined);

  expect(formatted.map(({ path }) => path).filter((path) => !seen.has(path))).toEqual(elsewhere);
});

/** The same as `jsonOf`, with this on standard input. */
async function fed(input: string, line: string): Promise<unknown> {
  note(line.split(' '));
  const { code, stdout, stderr } = await feed(user, input, ...withFormat(line.split(' ')));
  if (code !== 0) throw new Error(`thv ${line} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as unknown;
}
