import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import { openTerminal } from './testing/terminal.ts';
import { makeUser, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

let user: User;

beforeAll(async () => {
  user = await makeUser();
});
afterAll(() => user?.[Symbol.asyncDispose]());

/** Runs a test server of each name, for a test that removes them. */
async function runAll(...names: string[]): Promise<void> {
  for (const name of names) await user.mustThv('run', testServer, '--name', name, '-l', `team=${name}`);
}

async function statuses(): Promise<Record<string, string>> {
  const listed = JSON.parse(await user.mustThv('list', '--all', '--format', 'json')) as Listed[];
  return Object.fromEntries(listed.map(({ name, status }) => [name, status]));
}

interface Listed {
  name: string;
  status: string;
  url: string;
  port: number;
}

describe('thv list', () => {
  beforeAll(() => runAll('one', 'two'));
  afterAll(() => user.mustThv('rm', '--all'));

  test('shows what runs, in columns', async () => {
    const text = await user.mustThv('ls');

    const [header, ...rows] = text.trimEnd().split('\n');
    expect(header?.split(/ {3,}/)).toEqual([
      'NAME',
      'PACKAGE',
      'STATUS',
      'URL',
      'PORT',
      'TOOL TYPE',
      'GROUP',
      'CREATED AT',
    ]);
    expect(rows.map((row) => row.split(/ {3,}/).slice(0, 3))).toEqual([
      ['one', 'npx://toolhive-test-servers@1.0.0', 'running'],
      ['two', 'npx://toolhive-test-servers@1.0.0', 'running'],
    ]);
  });

  test('shows those with all of some labels', async () => {
    proves('cli.list');
    const [one, none, missing] = [
      await user.mustThv('list', '-l', 'team=one', '--format', 'json'),
      await user.mustThv('list', '-l', 'team=one', '--label', 'team=two', '--format', 'json'),
      await user.mustThv('list', '-l', 'team=three', '--group', 'default'),
    ];

    expect(JSON.parse(one)).toMatchObject([{ name: 'one', labels: { team: 'one' } }]);
    expect(none).toBe('[]\n');
    expect(missing).toBe(
      'No workload runs in the group default with these labels. Run thv list --all to see the others.\n',
    );
  });

  test('is what client applications take as their settings', async () => {
    const [{ url } = { url: '' }] = JSON.parse(await user.mustThv('list', '--format', 'json')) as Listed[];

    const settings: unknown = JSON.parse(
      await user.mustThv('list', '-l', 'team=one', '--format', 'mcpservers'),
    );

    expect(settings).toEqual({ mcpServers: { one: { url, type: 'streamable-http' } } });
  });

  test('has the same facts as thv status for one of them', async () => {
    await user.mustThv('stop', 'two');
    const listed = JSON.parse(await user.mustThv('list', '--all', '--format', 'json')) as Listed[];

    const lines = (await user.mustThv('status', 'one')).trimEnd().split('\n');
    const stopped = JSON.parse(await user.mustThv('status', 'two', '--format', 'json')) as object;
    await user.mustThv('start', 'two');

    const [one, two] = listed;
    expect(lines.map((line) => line.split(/: +/))).toEqual([
      ['Name', 'one'],
      ['Status', 'running'],
      ['Package', 'npx://toolhive-test-servers@1.0.0'],
      ['URL', one?.url],
      ['Port', String(one?.port)],
      ['Transport', 'stdio'],
      ['Proxy mode', 'streamable-http'],
      ['Group', 'default'],
      ['Labels', 'team=one'],
      ['Created', expect.stringMatching(/^\d{4}-/)],
    ]);
    expect(stopped).toEqual({ ...two, transport: 'stdio' });
  });

  test('fits the terminal', async () => {
    proves('cli.list');
    const terminal = openTerminal(user, ['list'], { columns: 80 });

    const code = await terminal.ended;
    const lines = terminal.screen().trimEnd().split('\n').slice(0, 3);

    expect(code).toBe(0);
    expect(lines.map((line) => line.length <= 80)).toEqual([true, true, true]);
    expect(lines[1]).toMatch(/^one +npx.*… +running/);
  });

  test('tells of a group that does not exist', async () => {
    const { code, stderr } = await user.thv('list', '--group', 'unheard-of');

    expect([code, stderr]).toEqual([
      4,
      'Error: group unheard-of not found\nHint: run thv group list to see all groups\n',
    ]);
  });
});

describe('several workloads at once', () => {
  test('are stopped, started again and removed, by name, all of them, or by group', async () => {
    proves('cli.several');
    await runAll('one', 'two', 'three');

    const stopped = await user.mustThv('stop', 'one', 'two', 'one');
    const afterStop = await statuses();
    const started = await user.mustThv('restart', '--all');
    const afterStart = await statuses();
    const stoppedGroup = await user.mustThv('stop', '-g', 'default');
    const removed = await user.mustThv('rm', '--group', 'default');
    const afterwards = await statuses();

    expect(stopped).toBe('stopped one\nstopped two\n');
    expect(afterStop).toEqual({ one: 'stopped', two: 'stopped', three: 'running' });
    expect(started).toMatch(/^one runs at http\S+\nthree runs at http\S+\ntwo runs at http\S+\n$/);
    expect(afterStart).toEqual({ one: 'running', two: 'running', three: 'running' });
    expect(stoppedGroup).toBe('stopped one\nstopped three\nstopped two\n');
    expect(removed).toBe('removed one\nremoved three\nremoved two\n');
    expect(afterwards).toEqual({});
  });

  test('do not suffer from a missing one', async () => {
    proves('cli.several');
    await runAll('one', 'two');

    const outcome = await user.thv('rm', 'one', 'unheard-of', 'two');
    const left = await statuses();

    expect(outcome).toEqual({
      code: 0,
      stdout: 'removed one\nremoved two\n',
      stderr: expect.stringContaining(
        'workload unheard-of not found (run thv list --all to see all workloads)\n',
      ),
    });
    expect(left).toEqual({});
  });

  test('are done if there is nothing to stop or remove, and a note says so', async () => {
    const note = 'workload unheard-of not found (run thv list --all to see all workloads)\n';

    const outcomes = [await user.thv('stop', 'unheard-of'), await user.thv('rm', 'unheard-of')];

    expect(outcomes).toEqual([1, 2].map(() => ({ code: 0, stdout: '', stderr: note })));
  });

  test('need what they start', async () => {
    await runAll('one');

    const outcome = await user.thv('restart', 'one', 'unheard-of');
    await user.mustThv('rm', 'one', '--yes');

    expect(outcome.code).toBe(4);
    expect(outcome.stderr).toContain('workloads could not be started: unheard-of\n');
  });

  test.each(['stop', 'rm', 'restart'])('have to be selected in one way: %s', async (command) => {
    const [nothing, both, nobody, unknown] = [
      await user.thv(command),
      await user.thv(command, 'one', '--all'),
      await user.thv(command, '--all'),
      await user.thv(command, '--all', '--group', 'default'),
    ];

    expect([nothing.code, nothing.stderr]).toEqual([
      2,
      'Error: no workloads are selected\nHint: specify workload names, --all, or --group GROUP\n',
    ]);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('cannot be used together')]);
    expect([nobody.code, nobody.stderr]).toEqual([0, expect.stringMatching(/^There is nothing to \w+\.\n$/)]);
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining('--all and --group cannot be used together'),
    ]);
  });

  test('are removed at a terminal only after a yes', async () => {
    await runAll('one', 'two');

    const refused = openTerminal(user, ['rm', '--all']);
    await refused.shows('Remove 2 workloads (one, two)? [y/N]');
    refused.type('\r');
    const refusedCode = await refused.ended;
    const between = await statuses();
    const agreed = openTerminal(user, ['rm', '--all']);
    await agreed.shows('[y/N]');
    agreed.type('y\r');
    const agreedCode = await agreed.ended;
    const afterwards = await statuses();

    expect([refusedCode, between]).toEqual([130, { one: 'running', two: 'running' }]);
    expect([agreedCode, afterwards]).toEqual([0, {}]);
  });

  test('are removed at a terminal without a question when that is said', async () => {
    await runAll('one');

    const terminal = openTerminal(user, ['rm', '--all', '--yes']);
    const code = await terminal.ended;

    expect([code, terminal.screen().includes('[y/N]')]).toEqual([0, false]);
    expect(await statuses()).toEqual({});
  });
});

describe('thv restart', () => {
  test('shows in the foreground what the server writes, and stops it at Ctrl-C', async () => {
    await runAll('front');
    await user.mustThv('stop', 'front');
    const { child, stdout, ended } = user.start('restart', '-f', 'front');
    await until(() => stdout().includes('front runs at'));
    await using client = await connectTo(/http:\S+/.exec(stdout())?.[0] ?? '');

    await client.call('complain', { message: 'a line of the server' });
    await until(() => stdout().includes('a line of the server'));
    child.kill('SIGINT');
    const code = await ended;
    const after = await statuses();
    await user.mustThv('rm', 'front');

    expect([code, after]).toEqual([0, { front: 'stopped' }]);
  });

  test('can only show one', async () => {
    await runAll('one', 'two');

    const { code, stderr } = await user.thv('restart', '--all', '-f');
    await user.mustThv('rm', '--all');

    expect([code, stderr]).toEqual([2, 'Error: only one workload at a time can be in the foreground\n']);
  });
});

describe('thv logs', () => {
  test('shows the last lines, follows new lines, and ends at Ctrl-C', async () => {
    proves('cli.logs');
    const stdout = await user.mustThv('run', testServer, '--name', 'talker', '--', 'chatty');
    await using client = await connectTo(/http:\S+/.exec(stdout)?.[0] ?? '');

    const hundred = (await user.mustThv('logs', 'talker')).trimEnd().split('\n');
    const two = (await user.mustThv('logs', 'talker', '--tail', '2')).trimEnd().split('\n');
    const follower = user.start('logs', 'talker', '-f', '--tail', '1');
    await until(() => follower.stdout() !== '');
    await client.call('complain', { message: 'later \u001b[2J' });
    await until(() => follower.stdout().includes('later'));
    follower.child.kill('SIGINT');
    const code = await follower.ended;
    await user.mustThv('rm', 'talker');

    expect([hundred.length, two.length, code]).toEqual([100, 2, 0]);
    expect(follower.stdout()).toContain('later \ufffd[2J\n');
  });

  test('of a workload that is called daemon has nothing to do with the daemon', async () => {
    await runAll('daemon');
    const own = join(user.home, '.local/state/toolhive/hive.log');
    const before = await readFile(own, 'utf8');

    const noted = await user.mustThv('logs', '--proxy', 'daemon');
    await user.mustThv('rm', 'daemon');

    expect(before).not.toBe('');
    expect(noted).not.toContain('daemon runs');
    expect(await readFile(own, 'utf8')).toContain(before);
  });

  test('shows what the proxy noted', async () => {
    await runAll('noted');

    const text = await user.mustThv('logs', '--proxy', 'noted');
    const last = await user.mustThv('logs', '-p', 'noted', '--tail', '1');
    await user.mustThv('rm', 'noted');

    const lines = text.trimEnd().split('\n');
    expect(lines.every((line) => typeof JSON.parse(line) === 'object')).toBe(true);
    expect(last).toBe(`${lines.at(-1)}\n`);
  });

  test('says so when there is nothing', async () => {
    await runAll('quiet');

    const { code, stdout, stderr } = await user.thv('logs', 'quiet');
    const unknown = await user.thv('logs', 'unheard-of');
    await user.mustThv('rm', 'quiet');

    expect([code, stdout, stderr]).toEqual([0, '', 'quiet has written nothing.\n']);
    expect([unknown.code, unknown.stderr]).toEqual([
      4,
      expect.stringContaining('workload unheard-of not found'),
    ]);
  });

  test('that belong to no workload are pruned', async () => {
    proves('cli.logs');
    await runAll('kept');
    const folder = join(user.home, '.local/share/toolhive/logs');
    await mkdir(folder, { recursive: true });
    for (const file of ['gone.log', 'gone.server.log']) await writeFile(join(folder, file), 'old\n');

    const removed = await user.mustThv('logs', 'prune');
    const again = await user.mustThv('logs', 'prune');
    await user.mustThv('rm', 'kept');

    expect(removed).toBe(`Removed: ${folder}/gone.log\nRemoved: ${folder}/gone.server.log\n`);
    expect(again).toBe('There was nothing to remove.\n');
  });
});

describe('thv export', () => {
  beforeAll(() => user.mustThv('run', testServer, '--name', 'kept', '-e', 'A=b', '--network', 'none'));
  afterAll(() => user.mustThv('rm', 'kept'));

  test('writes the run config for its owner only, with the folders above it', async () => {
    const path = join(user.home, 'deep/er/kept.json');

    const [first, second] = [
      await user.mustThv('export', 'kept', path),
      await user.mustThv('export', 'kept', path),
    ];

    expect([first, second]).toEqual([`wrote kept to ${path}\n`, `wrote kept to ${path}\n`]);
    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ name: 'kept', env_vars: { A: 'b' } });
    expect([(await stat(path)).mode & 0o777, (await stat(join(user.home, 'deep/er'))).mode & 0o777]).toEqual([
      0o600, 0o750,
    ]);
  });

  test('writes through a link instead of replacing it', async () => {
    const [path, link] = [join(user.home, 'target.json'), join(user.home, 'link.json')];
    await writeFile(path, '');
    await symlink(path, link);

    await user.mustThv('export', 'kept', link);

    expect(JSON.parse(await readFile(path, 'utf8'))).toMatchObject({ name: 'kept' });
  });

  test('writes a manifest for Kubernetes, and says what that leaves to do', async () => {
    proves('cli.export.kubernetes');
    const path = join(user.home, 'kept.yaml');

    const { code, stderr } = await user.thv('export', 'kept', path, '--format', 'k8s');

    expect([code, stderr]).toEqual([
      0,
      'note: npx://toolhive-test-servers@1.0.0 is not an image: build one with thv build, push it, and set its name in spec.image\n',
    ]);
    expect(await readFile(path, 'utf8')).toMatch(
      /^apiVersion: toolhive.stacklok.dev\/v1alpha1\nkind: MCPServer\n/,
    );
  });

  test('names what is wrong', async () => {
    const outcomes = await Promise.all([
      user.thv('export', 'kept'),
      user.thv('export', 'unheard-of', join(user.home, 'x.json')),
      user.thv('export', 'kept', join(user.home, 'x'), '--format', 'toml'),
      user.thv('export', 'kept', '/proc/x.json'),
    ]);

    expect(outcomes.map(({ code }) => code)).toEqual([2, 4, 2, 2]);
    expect(outcomes.map(({ stderr }) => stderr.split('\n')[0]).join('\n')).toMatchInlineSnapshot(`
      "Error: PATH is missing
      Error: workload unheard-of not found
      Error: --format takes json, k8s, mcp-json, mcpb, project, not "toml"
      Error: /proc/x.json cannot be written: ENOENT: no such file or directory, open '/proc/x.json'"
    `);
  });
});

describe('thv build', () => {
  test('prints the recipe, or writes it to a file, and builds nothing', async () => {
    proves('cli.build');
    const path = join(user.home, 'Dockerfile');

    const printed = await user.mustThv('build', 'npx://@example/server@1.0.0', '--dry-run');
    const written = await user.mustThv('build', 'npx://@example/server@1.0.0', '-o', path);

    expect(printed).toMatch(
      /^FROM node:22-alpine AS build\n[^]*"@example\/server@1\.0\.0"[^]*\nENTRYPOINT .*\n$/,
    );
    expect(written).toBe(`wrote the Dockerfile to ${path}\n`);
    expect(await readFile(path, 'utf8')).toBe(printed);
  });

  test.each(['uvx://mcp-server-time', 'go://github.com/example/server@v1.2.3', 'go://./server'])(
    'knows how %s is built',
    async (source) => {
      expect(await user.mustThv('build', source, '--dry-run')).toContain('USER 65534:65534\n');
    },
  );

  test('names what is wrong', async () => {
    const outcomes = await Promise.all([
      user.thv('build'),
      user.thv('build', 'filesystem', '--dry-run'),
      user.thv('build', 'https://example.com', '--dry-run'),
      user.thv('build', 'cargo://server', '--dry-run'),
      user.thv('build', 'npx://x"; RUN evil', '--dry-run'),
    ]);

    expect(outcomes.map(({ stderr }) => stderr).join('\n')).toMatchInlineSnapshot(`
      "Error: PROTOCOL is missing
      Hint: run thv build --help to see its usage

      Error: filesystem is not a package
      Hint: use npx://NAME, uvx://NAME, or go://NAME

      Error: https://example.com is not a package
      Hint: use npx://NAME, uvx://NAME, or go://NAME

      Error: cargo://server has the unknown scheme cargo
      Hint: use npx://, uvx://, go://, mcpb:// or an image reference

      Error: "x\\"; RUN evil" is not a package name for npx://
      "
    `);
    expect(outcomes.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2]);
  });

  test('says how to get an engine where there is none', async () => {
    await using other = await makeUser({ env: { TOOLHIVE_DOCKER_SOCKET: '/nowhere.sock' } });

    const { code, stderr } = await other.thv('build', 'npx://@example/server@1.0.0');

    expect(code).toBe(5);
    expect(stderr).toMatch(/Hint: .*(Docker|Podman)/);
  });
});

test('--debug tells what is asked of the daemon, and why something failed', async () => {
  await user.mustThv('run', testServer, '--name', 'kept');

  const { code, stdout, stderr } = await user.thv('--debug', 'export', 'kept', '/proc/x.json');
  const plain = await user.thv('export', 'kept', '/proc/x.json');
  await user.mustThv('rm', 'kept');

  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/^debug: GET \/api\/v1beta\/workloads\/kept\/export answered 200 after [\d.]+ ms$/m);
  expect(stderr).toMatch(/^Reason: ENOENT/m);
  expect(plain.stderr).not.toMatch(/debug:|Reason:/);
});
