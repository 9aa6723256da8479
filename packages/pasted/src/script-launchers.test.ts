import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isCommandLine, readCommandLine } from './launchers.ts';
import { readLocalPath } from './local-path.ts';

let directory: string;

const files: Record<string, string> = {
  'server.mjs': '',
  'main.ts': '',
  'server.py': '',
  'start.sh': '',
  'my servers/server.mjs': '',
  'my servers/pkg/package.json': '{"name": "pkg", "version": "1.0.0"}',
  'outward/package.json': '{"name": "outward", "main": "../server.mjs"}',
  'mixed/package.json': '{"name": "mixed", "version": "1.0.0", "private": true}',
  'mixed/pyproject.toml':
    '[project]\nname = "mixed"\nversion = "1.0.0"\n[project.scripts]\nmixed = "mixed:main"\n',
  'scripts/package.json': JSON.stringify({
    name: 'scripts',
    scripts: { start: 'node ./build/index.js --stdio', again: 'npm run again', build: 'tsc && node x.js' },
  }),
  'scripts/build/index.js': '',
  'mixed/go.mod': 'module example.com/mixed\n',
  'project/pyproject.toml':
    '[project]\nname = "p"\ndependencies = ["httpx"]\n[project.scripts]\nserve = "package.server:main"\n',
  'project/package/server.py': '',
  'project/src/tools/__main__.py': '',
  'values.env':
    'export QUOTED="a b"\nSINGLE=\'c d\' # note\nINLINE=x # note\n\n# comment\nLINES="first\nsecond"\nEMPTY=\n',
};

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'thv-scripts-'));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
});
afterAll(() => rm(directory, { recursive: true }));

const readWords = (words: string[]) =>
  readCommandLine(words, { env: {}, directory, readFile: (path) => readFile(path, 'utf8') });
const read = (text: string) => readWords(text.split(' '));

describe('a script of this machine', () => {
  test.each<[string, string, Record<string, string>]>([
    [
      'node --max-old-space-size=4096 ./server.mjs',
      'npx://server.mjs',
      { NODE_OPTIONS: '--max-old-space-size=4096' },
    ],
    [
      'node --no-warnings --enable-source-maps server.mjs',
      'npx://server.mjs',
      { NODE_OPTIONS: '--no-warnings --enable-source-maps' },
    ],
    ['nodejs --inspect=9229 --import tsx main.ts', 'npx://main.ts', {}],
    [
      'node --env-file=values.env server.mjs',
      'npx://server.mjs',
      { QUOTED: 'a b', SINGLE: 'c d', INLINE: 'x', LINES: 'first\nsecond', EMPTY: '' },
    ],
    ['npx -y tsx ./main.ts', 'npx://main.ts', {}],
    ['npx -y tsx@latest ./main.ts', 'npx://main.ts', {}],
    ['npx -y -p typescript -p ts-node ts-node --esm main.ts', 'npx://main.ts', {}],
    ['npx --package=tsx tsx --tsconfig tsconfig.json main.ts', 'npx://main.ts', {}],
    ['npx tsx watch --clear-screen=false main.ts', 'npx://main.ts', {}],
    ['npm exec -y -- tsx main.ts', 'npx://main.ts', {}],
    ['bunx --bun tsx main.ts', 'npx://main.ts', {}],
    ['pnpm dlx tsx@4 --no-warnings main.ts', 'npx://main.ts', { NODE_OPTIONS: '--no-warnings' }],
    [
      '/usr/bin/env node --no-deprecation server.mjs',
      'npx://server.mjs',
      { NODE_OPTIONS: '--no-deprecation' },
    ],
    ['npx ts-node main.ts', 'npx://main.ts', {}],
    ['bunx tsx main.ts', 'npx://main.ts', {}],
    ['tsx --trace-warnings main.ts', 'npx://main.ts', {}],
    ['bun run main.ts', 'npx://main.ts', {}],
    ['bun --smol main.ts', 'npx://main.ts', {}],
    ['deno run -A main.ts', 'npx://main.ts', {}],
    ['deno run -RN --unstable-kv main.ts', 'npx://main.ts', {}],
    ['deno -A main.ts', 'npx://main.ts', {}],
    ['python -u ./server.py', 'uvx://server.py', { PYTHONUNBUFFERED: '1' }],
    ['python3 -B -X utf8 server.py', 'uvx://server.py', { PYTHONUTF8: '1' }],
    ['python3.12 -u server.py', 'uvx://server.py', { PYTHONUNBUFFERED: '1' }],
    ['/usr/bin/python3.11 server.py', 'uvx://server.py', {}],
    ['python -uO server.py', 'uvx://server.py', { PYTHONUNBUFFERED: '1', PYTHONOPTIMIZE: '1' }],
    ['py -W ignore server.py', 'uvx://server.py', { PYTHONWARNINGS: 'ignore' }],
  ])('runs with the flags of its program: %s', async (text, image, env) => {
    const { request } = await read(text);

    expect(isCommandLine(text.split(' '))).toBe(true);
    expect(request).toMatchObject({ image: image.replace('://', `://${directory}/`), cmd_arguments: [] });
    expect(request.env_vars).toEqual(env);
  });

  test.each<[string, object]>([
    [
      'uv run --with mcp<2 python ./server.py a',
      { image: 'uvx://server.py', cmd_arguments: ['a'], python_with: ['mcp<2'] },
    ],
    [
      'uv run --python 3.12 python3 -u server.py',
      { image: 'uvx://server.py', python_version: '3.12', env_vars: { PYTHONUNBUFFERED: '1' } },
    ],
    [
      'uv --quiet run --locked --env-file values.env server.py',
      { image: 'uvx://server.py', env_vars: { INLINE: 'x' } },
    ],
    ['uv --directory ./project run -m package.server x', { image: 'uvx://project', cmd_arguments: ['x'] }],
    ['uv run --project project python -m package.server', { image: 'uvx://project' }],
    [
      'uv --directory project run python -m tools',
      { image: 'uvx://project/src/tools/__main__.py', python_with: ['httpx'] },
    ],
    ['uv run --directory project serve', { image: 'uvx://project' }],
    ['uv --directory mixed run mixed', { image: 'uvx://mixed' }],
    ['uvx --from ./mixed mixed', { image: 'uvx://mixed' }],
    ['npx -y ./mixed', { image: 'npx://mixed' }],
    ['go run ./mixed', { image: 'go://mixed' }],
  ])('runs as the program in its command says: %s', async (text, expected) => {
    const { request } = await read(text);

    const image = (expected as { image: string }).image.replace('://', `://${directory}/`);
    expect(request).toMatchObject({ ...expected, image });
  });

  test.each<[string, object]>([
    [
      'uv run --with mcp-server-time --python 3.12 mcp-server-time',
      { image: 'uvx://mcp-server-time', python_version: '3.12' },
    ],
    [
      'uv run --no-project --with mcp_server_time==1.0 mcp-server-time x',
      { image: 'uvx://mcp_server_time@1.0', cmd_arguments: ['x'] },
    ],
    [
      'uv run --with rich --with server[http]>=1 server',
      { image: 'uvx://server[http]@>=1', python_with: ['rich'] },
    ],
    [
      'deno run --allow-net npm:@scope/server@1.2.0 x',
      { image: 'npx://@scope/server@1.2.0', cmd_arguments: ['x'] },
    ],
    ['go install example.com/server@latest', { image: 'go://example.com/server@latest' }],
    ['sudo npx server', { image: 'npx://server' }],
    ['wsl npx -y server', { image: 'npx://server' }],
  ])('may be a published package: %s', async (text, expected) => {
    const { request } = await read(text);

    expect(request).toMatchObject(expected);
    expect(request.python_with).toEqual((expected as { python_with?: string[] }).python_with);
  });

  test('may be a package although the project in the directory has other programs', async () => {
    const own = await read('uv --directory project run --with serve serve');
    const other = await read('uv --directory project run --with mcp-server-time mcp-server-time');

    expect(own.request.image).toBe(`uvx://${directory}/project`);
    expect(other.request.image).toBe('uvx://mcp-server-time');
  });

  test.each<[string[], string, string[]]>([
    [['npm', 'start', '--prefix', 'scripts'], 'npx://scripts/build/index.js', ['--stdio']],
    [
      ['npm', '--prefix', 'scripts', 'run', '--silent', 'start', '--', '--x'],
      'npx://scripts/build/index.js',
      ['--stdio', '--x'],
    ],
    [['pnpm', '--dir', 'scripts', 'run', 'start'], 'npx://scripts/build/index.js', ['--stdio']],
    [['bash', '-c', 'cd scripts && npm start'], 'npx://scripts/build/index.js', ['--stdio']],
    [['poetry', 'run', 'python', 'server.py'], 'uvx://server.py', []],
    [['bash', '-c', 'cd project && python -m tools'], 'uvx://project/src/tools/__main__.py', []],
    [
      ['bash', '-c', 'source ~/.nvm/nvm.sh && nvm use 22 && cd project; python3 package/server.py'],
      'uvx://project/package/server.py',
      [],
    ],
  ])('runs as the tool of its project runs it: %j', async (words, image, args) => {
    const { request } = await readWords(words);

    expect(isCommandLine(words)).toBe(true);
    expect(request).toMatchObject({ image: image.replace('://', `://${directory}/`), cmd_arguments: args });
  });

  test('gets the variables that a shell exports before it', async () => {
    const { request } = await readWords([
      'bash',
      '-lc',
      'export MODE=fast && export "A=b c" && npx -y server',
    ]);

    expect(request).toMatchObject({ image: 'npx://server', env_vars: { MODE: 'fast', A: 'b c' } });
  });

  test('that mcp run starts keeps its way to start, and is all that the server can read', async () => {
    const { request } = await read('uv run --with mcp[cli] mcp run server.py:app');

    const path = join(directory, 'server.py');
    expect(request).toMatchObject({
      image: 'uvx://mcp',
      cmd_arguments: ['run', `${path}:app`],
      python_with: ['mcp[cli]'],
      volumes: [`${path}:${path}:ro`],
    });
  });

  test.each([
    [['node', 'my servers/server.mjs'], 'npx://my servers/server.mjs'],
    [['npx', './my servers/pkg'], 'npx://my servers/pkg'],
    [['bash', '-c', 'cd "my servers" && exec node ./server.mjs'], 'npx://my servers/server.mjs'],
    [['sh', '-c', "node 'my servers/server.mjs'"], 'npx://my servers/server.mjs'],
  ])('may have a path with a space: %j', async (words, image) => {
    const { request } = await readWords(words);

    expect(request.image).toBe(image.replace('://', `://${directory}/`));
  });

  test('in a directory for several languages says which one runs', async () => {
    const { request, notes } = await readLocalPath(['./mixed'], { directory });

    expect(request.image).toBe(`go://${directory}/mixed`);
    expect(notes).toEqual([expect.stringContaining(`To run the package.json, use npx://${directory}/mixed`)]);
  });

  test.each([
    ['node --require ./setup.cjs server.mjs', './setup.cjs'],
    ['node --eval 1 server.mjs', '--eval'],
    ['node --stack-size=2000 server.mjs', '--stack-size'],
    ['node --no-harmony-shipping server.mjs', '--no-harmony-shipping'],
    ['python -c pass server.py', '-c'],
    ['deno run jsr:@scope/server', 'jsr:@scope/server'],
    ['deno run https://example.com/server.ts', 'https://example.com/server.ts'],
    ['uv run --only-group cli server', '--only-group'],
    ['uv --directory project run -m package.other', 'package.other'],
    ['uv --quiet sync run', 'uv sync'],
    ['bash -c npx server | tee log', 'shell command'],
    ['bash -c rm -rf x && npx server', 'shell command'],
    ['bash -c npx server && echo done', 'shell command'],
    ['npm --prefix scripts run again', 'the script again'],
    ['npm --prefix scripts run build', 'the script build'],
    ['npm --prefix project start', 'package.json'],
    ['npx --registry https://example.com server', '--registry'],
    ['node ./mixed', 'has no main file'],
    ['node ./outward', 'is outside of it'],
    ['./start.sh --flag', 'the shell script ./start.sh'],
  ])('or a flag that cannot run is named: %s', async (text, part) => {
    const words = text.startsWith('bash') ? ['bash', '-c', text.slice(8)] : text.split(' ');

    await expect(readWords(words)).rejects.toMatchObject({
      kind: expect.stringMatching(/^(?:invalid|not-found)$/),
      message: expect.stringContaining(part),
    });
  });

  test.each([
    'python --name x',
    'node --name y',
    'uv --name z',
    'bun',
    'deno',
    'mcp run',
    'node -- a.js',
    'npm',
    'claude',
    'poetry',
  ])('is not seen in a source of thv run: %s', (text) => {
    expect(isCommandLine(text.split(' '))).toBe(false);
  });
});
