import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isCommandLine, readCommandLine } from './launchers.ts';
import { wordsIn } from './words.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-wrapped-'));
  await writeFile(join(directory, '.env'), 'TOKEN="a b" # of the server\nMODE=fast\n');
  await writeFile(join(directory, 'team.env'), 'TEAM=blue\n');
  await writeFile(join(directory, 'server.py'), '');
});
afterAll(() => rm(directory, { recursive: true }));

const read = (words: readonly string[]) =>
  readCommandLine(words, { env: {}, directory, readFile: (path) => readFile(path, 'utf8') });
const one = (text: string) => [text];

describe('a program around a command', () => {
  test.each([
    'fnm exec --using=20 npx -y server --flag',
    'fnm exec --using 20 -- npx -y server --flag',
    'nvm exec 20 npx -y server --flag',
    'nvm exec --silent lts/iron npx -y server --flag',
    'volta run --node 20 npx -y server --flag',
    'mise exec node@22 -- npx -y server --flag',
    'mise x -- npx -y server --flag',
    'asdf exec npx -y server --flag',
    'corepack pnpm dlx server --flag',
    'conda run --no-capture-output -n tools npx -y server --flag',
    'direnv exec . npx -y server --flag',
  ])('that chooses a version is not needed, which is said: %s', async (line) => {
    const { request, notes } = await read(line.split(' '));

    expect(isCommandLine(line.split(' '))).toBe(true);
    expect(request).toMatchObject({ image: 'npx://server', cmd_arguments: ['--flag'] });
    expect(notes).toEqual([expect.stringMatching(/^ToolHive chooses the version|\.envrc are not set/)]);
  });

  test.each([
    ['nix', 'develop', '-c', 'npx', '-y', 'server', '-c', 'x'],
    ['nix', 'shell', '--impure', 'nixpkgs#nodejs', '--command', 'npx', '-y', 'server', '-c', 'x'],
    ['nix-shell', '-p', 'nodejs', '--run', 'npx -y server -c x'],
    ['devbox', 'run', '-e', 'A=b', '--', 'npx', '-y', 'server', '-c', 'x'],
    ['devenv', 'shell', '--', 'npx', '-y', 'server', '-c', 'x'],
    ['flox', 'activate', '-d', '/project', '--', 'npx', '-y', 'server', '-c', 'x'],
    ['guix', 'shell', 'node', '--', 'npx', '-y', 'server', '-c', 'x'],
  ])('with the environment of a package manager is left out, which is said: %j', async (...words) => {
    const { request, notes } = await read(words);

    expect(isCommandLine(words)).toBe(true);
    expect(request).toMatchObject({ image: 'npx://server', cmd_arguments: ['-c', 'x'] });
    expect(notes).toEqual(['the server does not get the programs of the environment around it']);
  });

  test.each([
    'nohup npx server',
    'time npx server',
    'exec npx server',
    'nice -n 5 npx server',
    'stdbuf -oL npx server',
    'caffeinate -i npx server',
    'timeout -k 5 60 npx server',
    'sudo -u me npx server',
    'wsl -d Ubuntu -- npx server',
    'wsl.exe -e npx server',
    'env -i -u HOME npx server',
    'cmd /d /s /c npx server',
    'nice nohup env npx server',
  ])('that only starts it is left out: %s', async (line) => {
    const { request, notes } = await read(line.split(' '));

    expect(request).toMatchObject({ image: 'npx://server', cmd_arguments: [] });
    expect(notes).toEqual([]);
  });

  test.each([
    ['cross-env A=1 B=2 npx server', { A: '1', B: '2' }],
    ['npx -y cross-env@7 A=1 npx server', { A: '1' }],
    ['env A=1 npx server', { A: '1' }],
    ['A=1 nohup env B=2 npx server', { A: '1', B: '2' }],
    ['dotenv -e team.env -- npx server', { TEAM: 'blue' }],
    ['dotenv -e team.env -v TEAM=red -- npx server', { TEAM: 'red' }],
    ['dotenv -f team.env run -- npx server', { TEAM: 'blue' }],
    ['npx dotenv-cli -- npx server', { TOKEN: 'a b', MODE: 'fast' }],
    ['npx -y @dotenvx/dotenvx run -f team.env -- npx server', { TEAM: 'blue' }],
    ['env-cmd -f team.env npx server', { TEAM: 'blue' }],
    ['npx @modelcontextprotocol/inspector -e A=1 npx server', { A: '1' }],
  ])('that sets variables sets them for the server: %s', async (line, env) => {
    const { request } = await read(line.split(' '));

    expect(request).toMatchObject({ image: 'npx://server', env_vars: env });
  });

  test.each([
    ['source .env && npx server', { TOKEN: 'a b', MODE: 'fast' }],
    ['set -a; . ./team.env; set +a; exec npx server', { TEAM: 'blue' }],
    ['source .venv/bin/activate && npx server', {}],
    ['A=1 exec npx server', { A: '1' }],
  ])('is a shell that reads variables: %s', async (text, env) => {
    const { request } = await read(['bash', '-c', text]);

    expect(request).toMatchObject({ image: 'npx://server', env_vars: env });
  });

  test.each([
    [['cmd', '/c', 'set A=1&& npx server']],
    [['cmd.exe', '/c', 'set', 'A=1', '&&', 'npx', 'server']],
  ])('is the shell of Windows that sets a variable: %j', async (words) => {
    const { request } = await read(words);

    expect(request).toMatchObject({ image: 'npx://server', env_vars: { A: '1' } });
  });

  test.each(['py -3 server.py', 'py -3.12 -m uv run server.py', 'python3 -m uv run server.py'])(
    'is a Python that starts a script or uv: %s',
    async (line) => {
      const { request } = await read(line.split(' '));

      expect(request.image).toBe(`uvx://${join(directory, 'server.py')}`);
    },
  );

  test.each([
    ['env -C'],
    ['mise -C', 'exec --'],
    ['mise exec -C', 'node@22 --'],
    ['conda run --cwd', '-n tools'],
  ])('with a directory has its paths there: %s', async (before, after = '') => {
    const words = [
      ...before.split(' '),
      directory,
      ...after.split(' ').filter(Boolean),
      'python',
      'server.py',
    ];
    const from = { env: {}, directory: '/', readFile: () => Promise.reject(new Error('no file')) };

    const { request } = await readCommandLine(words, from);

    expect(request.image).toBe(`uvx://${join(directory, 'server.py')}`);
  });

  test('with values that only another program can decrypt is refused without the values', async () => {
    await writeFile(join(directory, 'sealed.env'), 'TOKEN="encrypted:BDf3example"\n');

    await expect(read('dotenvx run -f sealed.env -- npx server'.split(' '))).rejects.toMatchObject({
      message: 'sealed.env has encrypted values: TOKEN',
      hint: expect.stringContaining('thv secret set'),
    });
  });

  test('with a file of variables that does not exist is refused with the path', async () => {
    await expect(read('dotenv -e missing.env -- npx server'.split(' '))).rejects.toThrow('missing.env');
  });

  test.each([['time'], ['dotenv'], ['exec'], ['container']])(
    'is the name of a registry entry without a command: %s',
    (name) => {
      expect(isCommandLine(one(name))).toBe(false);
      expect(isCommandLine([name, '--', '--flag'])).toBe(false);
    },
  );

  test('without a command is a command line that is incomplete', () => {
    expect(isCommandLine(['npx', '-y', 'cross-env', 'A=1'])).toBe(true);
  });

  test('in a thousand layers is refused, and takes no time', async () => {
    const words = [
      ...Array.from({ length: 100_000 }, () => ['npx', 'cross-env', 'A=1']).flat(),
      'npx',
      'server',
    ];

    await expect(read(words)).rejects.toThrow('cannot be run in isolation');
  });
});

describe('a command in one text', () => {
  test.each([
    [['mise', 'exec', 'node@22', '-c', 'npx -y one --flag']],
    [['mise', 'x', '--command', 'npx -y one --flag']],
    [['env', '-S', 'npx -y one', '--flag']],
    [['xvfb-run', '-a', '--server-args=-screen 0 1280x1024x24', 'npx', '-y', 'one', '--flag']],
    [['arch', '-arm64', 'npx', '-y', 'one', '--flag']],
    [['ionice', '-c', '3', 'npx', '-y', 'one', '--flag']],
    [['dbus-run-session', '--', 'npx', '-y', 'one', '--flag']],
    [['wsl', '--shell-type', 'login', 'npx', '-y', 'one', '--flag']],
    [['npx', '-c', 'npx -y one --flag']],
    [['npx', '-y', '--call=npx one --flag']],
    [['npm', 'exec', '-c', 'cd . && npx -y one --flag']],
  ])('or behind another program is found: %j', async (words) => {
    expect((await read(words)).request).toMatchObject({ image: 'npx://one', cmd_arguments: ['--flag'] });
  });

  test('of npx with a package starts a program of the package', async () => {
    const { request } = await read(['npx', '-p', 'tools', '-c', 'server --flag']);

    expect(request).toMatchObject({ image: 'npx://tools#program=server', cmd_arguments: ['--flag'] });
  });

  test('of npx does not run the package node', async () => {
    const missing = join(directory, 'wallaby/mcp');

    await expect(read(['npx', '-y', '-c', `node ${missing}`])).rejects.toThrow(`${missing} not found`);
    await expect(read(['npx', '-y', 'node', missing])).rejects.toThrow(`${missing} not found`);
  });

  test.each([
    [['env', 'A=1', 'npx', '-y', 'one', '-S', 'npx other']],
    [['env', 'npx', '-y', 'one', '-S', 'npx other']],
    [['mise', 'exec', 'node@22', '--', 'npx', '-y', 'one', '-S', 'npx other']],
  ])('is not replaced by an argument that looks like its flag: %j', async (words) => {
    const { request } = await read(words);

    expect(request).toMatchObject({ image: 'npx://one', cmd_arguments: ['-S', 'npx other'] });
  });
});

test.each([
  ['NPX -y one', 'npx://one'],
  ['CMD /C npx.CMD -y one', 'npx://one'],
  ['UVX.exe one', 'uvx://one'],
  ['Docker run -i example/one', 'example/one'],
  ['PowerShell.exe -Command "npx -y one"', 'npx://one'],
])('a program is known in any spelling, as on Windows: %s', async (line, image) => {
  const words = wordsIn(line) ?? [];

  expect(isCommandLine(words)).toBe(true);
  expect((await read(words)).request).toMatchObject({ image });
});

test.each([
  ['just mcp', 'just runs a task'],
  ['make run-mcp', 'make runs a task'],
  ['mise --cd /srv/weather run app', 'mise runs a task'],
  ['devbox -c /srv/tools run mcp', 'devbox runs a task'],
  ['ddev exec php artisan boost:mcp', 'ddev runs a task'],
  ['python -m uvicorn main:app --port 8000', 'uvicorn serves an app'],
  ['uvicorn main:app', 'uvicorn serves an app'],
  ['python -m pip install tools', 'the program "pip" cannot be run'],
])('a command of a project is refused with the alternative: %s', async (line, problem) => {
  await expect(read(line.split(' '))).rejects.toMatchObject({
    message: expect.stringContaining(problem),
    hint: expect.not.stringContaining('if its package is'),
  });
});
