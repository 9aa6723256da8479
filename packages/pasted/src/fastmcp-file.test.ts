import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isCommandLine, readCommandLine } from './launchers.ts';
import { readLocalPath } from './local-path.ts';

let home: string;
let directory: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'thv-fastmcp-'));
  directory = join(home, 'project');
  await mkdir(join(directory, 'src'), { recursive: true });
  await writeFile(join(directory, 'src/server.py'), '');
  await writeFile(join(home, 'outside.py'), '');
  await writeFile(join(home, 'outside.txt'), 'private\n');
});
afterEach(() => rm(home, { recursive: true }));

const env = { TOKEN: 'of the user' };
const read = (text: string) =>
  readCommandLine(text.split(' '), { env, directory, readFile: (path) => readFile(path, 'utf8') });
const write = (content: object) => writeFile(join(directory, 'fastmcp.json'), JSON.stringify(content));
const source = { path: 'src/server.py', entrypoint: 'app' };

describe('a FastMCP project file', () => {
  test.each([
    'fastmcp run',
    'fastmcp run fastmcp.json',
    'fastmcp run fastmcp.json --no-banner',
    'fastmcp install cursor fastmcp.json',
    'uvx fastmcp run',
    'uvx fastmcp run ./fastmcp.json',
    'uv run fastmcp run fastmcp.json',
    'uv run --with fastmcp fastmcp run fastmcp.json',
  ])('names the file that the server gets: %s', async (text) => {
    await write({ source });

    const { request } = await read(text);

    const file = join(directory, 'src/server.py');
    expect(isCommandLine(text.split(' '))).toBe(true);
    expect(request).toMatchObject({
      image: 'uvx://fastmcp',
      cmd_arguments: ['run', `${file}:app`],
      volumes: [`${file}:${file}:ro`],
    });
  });

  test('names packages, a Python version, variables, and arguments', async () => {
    await writeFile(join(directory, 'requirements.txt'), 'rich\n');
    await write({
      $schema: 'https://gofastmcp.com/public/schemas/fastmcp.json/v1.json',
      source: { type: 'filesystem', path: './src/server.py' },
      environment: {
        type: 'uv',
        python: '3.12',
        dependencies: ['pandas>=2', 'fastmcp'],
        requirements: 'requirements.txt',
        project: '.',
      },
      deployment: { transport: 'http', port: 8000, env: { LEVEL: 'debug' }, args: ['--config', 'x.json'] },
    });

    const { request, notes } = await read('fastmcp run fastmcp.json');

    expect(request).toMatchObject({
      cmd_arguments: ['run', join(directory, 'src/server.py'), '--', '--config', 'x.json'],
      python_with: ['pandas>=2', 'fastmcp', 'rich'],
      python_version: '3.12',
      env_vars: { LEVEL: 'debug' },
    });
    expect(notes).toEqual([`the server has read access to ${join(directory, 'src/server.py')}`]);
  });

  test('has less to say than the command', async () => {
    await write({ source, environment: { python: '3.12' }, deployment: { args: ['a'] } });

    const { request } = await read('uvx --python 3.13 fastmcp run fastmcp.json -- b');

    expect(request).toMatchObject({ python_version: '3.13' });
    expect(request.cmd_arguments?.slice(2)).toEqual(['--', 'b']);
  });

  test('gets no variable of the user', async () => {
    await write({ source, deployment: { env: { KEY: '${TOKEN}' } } });

    const { request, notes } = await read('fastmcp run');

    expect(request.env_vars ?? {}).toEqual({});
    expect(notes).toContain(
      `${join(directory, 'fastmcp.json')} takes KEY from the environment. To set the variable, use -e KEY=VALUE`,
    );
  });

  test('can name what ToolHive does not use', async () => {
    await write({
      source,
      environment: { python: '>=3.10', dependencies: ['./local', 'rich'], editable: ['../other'] },
      deployment: { cwd: '/srv' },
    });

    const { request, notes } = await read('fastmcp run');

    const file = join(directory, 'fastmcp.json');
    expect(request).toMatchObject({ python_with: ['rich'] });
    expect(notes.slice(0, 3)).toEqual([
      `these packages of ${file} are not installed: ./local, ../other`,
      `ToolHive chooses the Python version, not ${file}`,
      'the server does not start in /srv',
    ]);
  });

  test.each([
    ['a path to a parent directory', () => ({ source: { path: '../outside.py' } })],
    ['a path of nothing', () => ({ source: { path: '../missing.py' } })],
    ['an absolute path', () => ({ source: { path: join(home, 'outside.py') } })],
    ['a link', () => ({ source: { path: 'link.py' } })],
    ['requirements elsewhere', () => ({ source, environment: { requirements: '../outside.txt' } })],
  ])('cannot name a file outside its directory: %s', async (_what, contentOf) => {
    await symlink(join(home, 'outside.py'), join(directory, 'link.py'));
    await write(contentOf());

    await expect(read('fastmcp run')).rejects.toThrow('outside its directory');
  });

  test.each([
    [{ mcpServers: {} }, 'contains servers for a client'],
    [{ name: 'other' }, 'is not a FastMCP project file: source'],
    [{ source: { path: 'server.js' } }, 'source.path: must name a Python file'],
    [{ source: { path: 'none.py' } }, 'none.py not found'],
  ])('with mistakes is refused with the reason: %j', async (content, problem) => {
    await write(content);

    await expect(read('fastmcp run')).rejects.toThrow(problem);
  });

  test('that is run as a package gets a hint', async () => {
    await write({ source });

    const hint = expect.stringContaining('thv run -- fastmcp run');
    await expect(readLocalPath(['./fastmcp.json'], { directory })).rejects.toMatchObject({ hint });
  });

  test('that is not JSON is refused', async () => {
    await writeFile(join(directory, 'fastmcp.json'), '{');

    await expect(read('fastmcp run')).rejects.toThrow('is not JSON');
  });
});
