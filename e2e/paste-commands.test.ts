// @suite e2e (in depth)
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiClient } from '@toolhive/api/testing/api-client';
import { proves } from '@toolhive/testing/promises';
import { startCommand } from './testing/running.ts';
import { openTerminal } from './testing/terminal.ts';
import { makeUser, testPackage, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

const credential = 'a-credential-of-a-test';

let user: User;

beforeAll(async () => {
  user = await makeUser({ env: { TOKEN_OF_TESTS: credential } });
  await mkdir(join(user.home, '.config/toolhive'), { recursive: true });
  const server = (repository_url: string) => ({
    description: 'A server for tests.',
    image: `npx://${testPackage}`,
    transport: 'stdio',
    args: ['echo'],
    repository_url,
  });
  const registry = join(user.home, 'registry.json');
  await writeFile(
    registry,
    JSON.stringify({
      version: '1.0.0',
      last_updated: '2026-01-01T00:00:00Z',
      servers: {
        lone: server('https://github.com/example/lone'),
        'twin-a': server('https://github.com/example/twins/tree/main/src/a'),
        'twin-b': server('https://github.com/example/twins/tree/main/src/b'),
      },
    }),
  );
  await writeFile(join(user.home, '.config/toolhive/config.yaml'), `local_registry_path: ${registry}\n`);
  await user.mustThv('list'); // starts the daemon
  const daemon = apiClient({ socketPath: join(user.home, '.local/state/toolhive/hive.sock') });
  await daemon.setupSecrets({ body: { provider_type: 'encrypted', password: 'a password of a test' } });
});
afterAll(() => user?.[Symbol.asyncDispose]());

const runConfigOf = async (name: string) =>
  JSON.parse((await user.api('GET', `/api/v1beta/workloads/${name}/export`)).text) as Record<string, unknown>;

describe('a pasted command', () => {
  test('runs isolated, and is named by the flags before it', async () => {
    proves('cli.paste');

    await user.mustThv(
      'run',
      '--name',
      'pasted',
      'npx',
      '-y',
      testPackage,
      'echo',
      '--help',
      '--name',
      'other',
    );

    const runConfig = await runConfigOf('pasted');
    await user.mustThv('rm', 'pasted');
    expect(runConfig).toMatchObject({
      image: expect.stringMatching(new RegExp(`^npx://${testPackage}@`)),
      cmd_args: ['echo', '--help', '--name', 'other'],
      permission_profile: { name: 'public' },
    });
  });

  test('has its credentials stored as secrets, or says how', async () => {
    proves('cli.paste.credentials');
    const words = [`API_KEY=${credential}`, 'MODE=fast', 'npx', '-y', testPackage, 'echo'];

    const plain = await user.thv('run', '--name', 'plain', ...words);
    const stored = await user.thv('run', '--name', 'stored', '--store-secrets', ...words);
    const runConfig = await runConfigOf('stored');
    await user.mustThv('rm', 'plain', 'stored');

    expect(plain.stderr).toContain(
      `thv rm plain && thv secret set plain-API_KEY && thv run --name plain --env MODE=fast --secret plain-API_KEY,target=API_KEY npx://${testPackage} -- echo`,
    );
    expect(runConfig).toMatchObject({
      env_vars: { MODE: 'fast' },
      secrets: ['stored-API_KEY,target=API_KEY'],
    });
    expect(`${plain.stdout}${plain.stderr}${stored.stdout}${stored.stderr}`).not.toContain(credential);
    expect(await user.mustThv('secret', 'get', 'stored-API_KEY')).toBe(`${credential}\n`);
  });

  test('asks at a terminal before it stores a credential', async () => {
    const words = ['run', '--name', 'asked', `API_KEY=${credential}`, 'npx', testPackage, 'echo'];
    const terminal = openTerminal(user, words);

    await terminal.shows(/Store API_KEY as a secret\? \[Y\/n\]/);
    terminal.type('\r');
    const code = await terminal.ended;

    const runConfig = await runConfigOf('asked');
    await user.mustThv('rm', 'asked');
    expect([code, runConfig['secrets']]).toEqual([0, ['asked-API_KEY,target=API_KEY']]);
  });

  test('leaves no secret behind when it cannot run', async () => {
    await user.thv(
      'run',
      '--name',
      'failed',
      '--store-secrets',
      `API_KEY=${credential}`,
      'npx',
      'no-such-package',
    );

    expect(await user.mustThv('secret', 'list')).not.toContain('failed-API_KEY');
  });

  test.each([
    [['docker', 'run', '--privileged', 'example/server'], "Docker's --privileged"],
    [['docker', 'run', '--network=host', 'example/server'], 'add --network host after thv run'],
    [['docker', 'run', '-v', '/var/run/docker.sock:/s', 'example/server'], 'control over this machine'],
    [['npx -y package'], 'thv run npx -y package'],
    [
      ['no-such-server'],
      'thv run npx://no-such-server. For a PyPI package, run thv run uvx://no-such-server',
    ],
    [['./no-such-file.js'], 'no-such-file.js not found'],
    [['./no such/file.js'], 'no such/file.js not found'],
    [['https://github.com/example/unknown'], 'no registry entry has the repository'],
    [['https://github.com/example/twins'], 'thv run twin-a, or thv run twin-b'],
  ])('that cannot run as it is says what to do: %s', async (words, message) => {
    const { code, stderr } = await user.thv('run', ...words);

    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
    expect(JSON.parse(await user.mustThv('list', '--all', '--format', 'json'))).toEqual([]);
  });

  test.each([
    'https://github.com/example/lone',
    'github.com/Example/lone.git',
    'https://github.com/example/lone/tree/main',
    'https://github.com/example/lone/tree/main/src/lone',
  ])('may be the address of a repository in the registry: %s', async (address) => {
    await user.mustThv('run', address);

    const runConfig = await runConfigOf('lone');
    await user.mustThv('rm', 'lone');
    expect(runConfig).toMatchObject({ cmd_args: ['echo'] });
  });
});

describe('thv import', () => {
  const servers = {
    echo: {
      command: 'npx',
      args: ['-y', testPackage, 'echo'],
      env: { API_KEY: credential, MODE: '${env:MODE_OF_TEST}' },
    },
    'bad one': { command: 'docker', args: ['run', '--privileged', 'example/server'] },
    off: { command: 'npx', args: [testPackage], disabled: true },
  };

  test('runs the servers of a client, and tells of those that it cannot run', async () => {
    proves('cli.import');
    await mkdir(join(user.home, '.cursor'), { recursive: true });
    const file = join(user.home, '.cursor/mcp.json');
    const text = `// mine\n${JSON.stringify({ mcpServers: servers })}`;
    await writeFile(file, text);
    user.env['MODE_OF_TEST'] = 'fast';

    const dry = await user.thv('import', 'cursor', '--dry-run');
    const { code, stdout, stderr } = await user.thv('import', 'cursor', '--store-secrets');
    const runConfig = await runConfigOf('echo');
    const again = await user.thv('import', 'cursor', 'echo');
    const named = await user.thv('import', 'cursor', 'off', '--dry-run');
    await user.mustThv('rm', 'echo');

    expect(dry.stdout).toBe(
      `thv run --name echo --env MODE=fast --secret echo-API_KEY,target=API_KEY npx://${testPackage} -- echo\n`,
    );
    expect([code, stdout]).toEqual([2, expect.stringMatching(/^echo runs at http:\S+\n$/)]);
    expect(stderr).toContain('skipped off: it is disabled. To import it anyway, add its name');
    expect(named.stdout).toBe(`thv run --name off npx://${testPackage}\n`);
    expect(stderr).toContain("bad one: ToolHive does not accept Docker's --privileged");
    expect(runConfig).toMatchObject({ env_vars: { MODE: 'fast' }, secrets: ['echo-API_KEY,target=API_KEY'] });
    expect([again.code, again.stderr]).toEqual([3, expect.stringContaining('workload echo already exists')]);
    expect(`${stdout}${stderr}${dry.stdout}${dry.stderr}`).not.toContain(credential);
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  test('knows the project of a file, and reads environment files as editors do', async () => {
    const project = join(user.home, 'my project');
    await mkdir(join(project, '.vscode'), { recursive: true });
    await writeFile(join(project, 'values.env'), `export QUOTED="a b"\nINLINE=x # note\nLINES='1\n2'\n`);
    const entry = { command: 'npx', args: [testPackage, 'echo', '${workspaceFolderBasename}'] };
    const file = join(project, '.vscode/mcp.json');
    await writeFile(
      file,
      JSON.stringify({ servers: { one: { ...entry, envFile: '${workspaceFolder}/values.env' } } }),
    );

    const dry = await user.thv('import', file, '--dry-run');

    expect(dry.stdout).toBe(
      `thv run --name one --env 'QUOTED=a b' --env INLINE=x --env 'LINES=1\n2' npx://${testPackage} -- echo 'my project'\n`,
    );
  });

  test('gives a server no file outside of the project that its configuration comes with', async () => {
    const project = join(user.home, 'foreign');
    await mkdir(project, { recursive: true });
    await writeFile(join(user.home, '.aws-credentials'), `aws_secret_access_key=${credential}\n`);
    const entry = { command: 'npx', args: [testPackage, 'echo'], envFile: '${userHome}/.aws-credentials' };
    const file = join(project, '.mcp.json');
    await writeFile(file, JSON.stringify({ mcpServers: { foreign: entry } }));

    const { code, stdout, stderr } = await user.thv('import', file, '--store-secrets');

    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`${user.home}/.aws-credentials, which is outside of ${project}`);
  });

  test('says which variables of the user a configuration of others passes to its server', async () => {
    const file = join(user.home, 'variables.json');
    const env = { A: '${env:HOME}', B: '${PATH:-x}', C: '${NOT_SET_IN_TESTS:-x}' };
    await writeFile(
      file,
      JSON.stringify({ mcpServers: { curious: { command: 'npx', args: [testPackage, 'echo'], env } } }),
    );

    const { stderr } = await user.thv('import', file, '--dry-run');

    expect(stderr).toContain('curious: the server gets HOME, PATH from your environment\n');
  });

  test.each<[string, object]>([
    ['OpenCode', { environment: { TOKEN: '{env:TOKEN_OF_TESTS}' } }],
    ['mcporter', { env: { TOKEN: '$env:TOKEN_OF_TESTS' } }],
    ['Codex', { env_vars: ['TOKEN_OF_TESTS'] }],
    ['a shell', { env: { TOKEN_OF_TESTS: '$TOKEN_OF_TESTS' } }],
    ['an argument', { args: [testPackage, 'echo', '--token=${TOKEN_OF_TESTS}'] }],
    ['Docker', { command: 'docker', args: ['run', '-i', '-e', 'TOKEN_OF_TESTS', 'example/echo'] }],
  ])('says so for every form of a variable: %s', async (_name, fields) => {
    const file = join(user.home, 'variables.json');
    const curious = { command: 'npx', args: [testPackage, 'echo'], ...fields };
    await writeFile(file, JSON.stringify({ mcpServers: { curious } }));

    const { stderr } = await user.thv('import', file, '--dry-run');

    expect(stderr).toContain('curious: the server gets TOKEN_OF_TESTS from your environment\n');
  });

  test('asks at a terminal for placeholders, and whether values are examples', async () => {
    const file = join(user.home, 'open.json');
    const args = [testPackage, 'echo', '--org=${input:org}'];
    const env = { COMPANY: 'your-company', KEY: 'Bearer ${KEY_OF_TEST}' };
    await writeFile(file, JSON.stringify({ servers: { open: { command: 'npx', args, env } } }));
    const terminal = openTerminal(user, ['import', file, '--store-secrets']);

    await terminal.shows('open: keep the value of COMPANY? It may be an example. [Y/n]');
    terminal.type('n\r');
    await terminal.shows('KEY_OF_TEST:');
    terminal.type(`${credential}\r`);
    await terminal.shows('org:');
    terminal.type('acme\r');
    await terminal.shows('COMPANY:');
    terminal.type('real\r');
    const code = await terminal.ended;

    const runConfig = await runConfigOf('open');
    await user.mustThv('rm', 'open');
    expect(code).toBe(0);
    expect(runConfig).toMatchObject({ cmd_args: ['echo', '--org=acme'] });
    expect(terminal.screen()).not.toContain(credential);
    expect(await user.mustThv('secret', 'get', 'open-KEY')).toBe(`Bearer ${credential}\n`);
  });

  test('reads what thv export writes, from standard input', async () => {
    proves('cli.export.mcp-json');
    const file = join(user.home, 'out.json');
    await user.mustThv('run', testServer, '--name', 'again', '--env', 'MODE=slow', '--', 'echo');
    const before = await runConfigOf('again');
    await user.mustThv('export', 'again', file, '--format', 'mcp-json');
    await user.mustThv('rm', 'again');
    await using importing = startCommand(user, ['import', '-', '--group', 'default']);

    importing.child.stdin.end(await readFile(file, 'utf8'));
    const code = await importing.ended;

    const after = await runConfigOf('again');
    await user.mustThv('rm', 'again');
    expect(code).toBe(0);
    const essence = ({ image, cmd_args, env_vars }: Record<string, unknown>) => ({
      image,
      cmd_args,
      env_vars,
    });
    expect(essence(after)).toEqual(essence(before));
  });
});

describe('thv mcp call', () => {
  beforeAll(() => user.mustThv('run', testServer, '--name', 'called', '--', 'echo'));
  afterAll(() => user.mustThv('rm', 'called'));

  test('prints the text of a result, or all of it', async () => {
    proves('cli.mcp-call');

    const text = await user.mustThv('mcp', 'call', 'called', 'echo', 'message=hello');
    const json = JSON.parse(
      await user.mustThv(
        'mcp',
        'call',
        'called',
        'echo',
        '--input',
        '{"message":"hello"}',
        '--format',
        'json',
      ),
    ) as object;

    expect(text).toContain('hello');
    expect(json).toMatchObject({ content: [{ type: 'text', text: expect.stringContaining('hello') }] });
  });

  test('takes the server as a flag, as thv mcp list does', async () => {
    expect(await user.mustThv('mcp', 'call', '--server', 'called', 'echo', 'message=hello')).toContain(
      'hello',
    );
  });

  test('tells of progress, and of an error of the tool by its exit code', async () => {
    const slow = await user.thv('mcp', 'call', 'called', 'slow', 'ms=10', 'steps=2');
    const failed = await user.thv('mcp', 'call', 'called', 'read', 'path=/nowhere');

    expect(slow).toEqual({ code: 0, stdout: 'done\n', stderr: '- 1/2\n- 2/2\n' });
    expect(failed).toEqual({
      code: 1,
      stdout: expect.stringContaining('ENOENT'),
      stderr: 'Error: the tool read reported an error\n',
    });
  });

  test.each([
    [['called', 'nothing'], 4, 'called has no tool nothing'],
    [['called', 'echo', 'text'], 2, 'invalid argument "text"'],
    [['called', 'echo', '--input', '[]'], 2, '--input is not a JSON object'],
    [['absent', 'echo'], 4, 'workload absent not found'],
    [['called'], 2, 'TOOL is missing'],
    [['--server', 'called'], 2, 'TOOL is missing'],
    [[], 2, 'SERVER is missing'],
  ])('names a mistake: %s', async (words, expected, message) => {
    const { code, stderr } = await user.thv('mcp', 'call', ...words);

    expect([code, stderr]).toEqual([expected, expect.stringContaining(message)]);
  });
});
