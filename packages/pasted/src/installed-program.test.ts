import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { previewImport } from './import.ts';
import { readCommandLine } from './launchers.ts';
import { readLocalPath } from './local-path.ts';

let root: string;

/** Writes a file, which is executable in a program directory. */
async function put(path: string, text: string): Promise<void> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  if (/\/(?:bin|\.bin|shims|dist)\//.test(path)) await chmod(file, 0o755);
}

async function link(path: string, target: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await symlink(target, join(root, path));
}

const entryPoints = (...programs: string[]): string =>
  [
    '[other]',
    'mcp-x = x:y',
    '',
    '[console_scripts]',
    ...programs.map((each) => `${each} = mod:main [cli]`),
  ].join('\n');

/** What `pip install` writes. */
async function putDistribution(
  lib: string,
  name: string,
  programs: string[],
  origin?: object,
): Promise<void> {
  const info = `${lib}/${name}.dist-info`;
  await put(`${info}/entry_points.txt`, entryPoints(...programs));
  await put(`${info}/RECORD`, `${programs[0]?.replaceAll('-', '_')}/__init__.py,sha256=x,1\n`);
  if (origin !== undefined) await put(`${info}/direct_url.json`, JSON.stringify(origin));
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'thv-installed-'));
  // npm install --global
  const bin = { 'files-mcp': './dist/index.js', 'files-setup': 'dist/setup.js' };
  const global = 'npm/lib/node_modules/@scope/files';
  await put(`${global}/package.json`, JSON.stringify({ name: '@scope/files', version: '1.2.3', bin }));
  await put(`${global}/dist/index.js`, '#!/usr/bin/env node\n');
  await put(`${global}/dist/setup.js`, '#!/usr/bin/env node\n');
  await link('npm/bin/files-mcp', '../lib/node_modules/@scope/files/dist/index.js');
  const own = { name: 'inner', version: '1.0.0', private: true, bin: 'dist/index.js' };
  await put('npm/lib/node_modules/inner/package.json', JSON.stringify(own));
  await put('npm/lib/node_modules/inner/dist/index.js', '');
  await link('npm/bin/inner', '../lib/node_modules/inner/dist/index.js');
  await link('npm/bin/gone', '../lib/node_modules/gone/index.js');
  // npm link
  await put('work/linked/package.json', JSON.stringify({ name: 'linked', bin: { linked: 'dist/main.js' } }));
  await put('work/linked/dist/main.js', '');
  await link('npm/bin/linked', '../../work/linked/dist/main.js');
  // pnpm
  const store = 'project/node_modules/.pnpm/tasks@2.0.0/node_modules/tasks';
  await put(`${store}/package.json`, JSON.stringify({ name: 'tasks', version: '2.0.0', bin: 'dist/cli.js' }));
  await put(`${store}/dist/cli.js`, '');
  await link('project/node_modules/tasks', '.pnpm/tasks@2.0.0/node_modules/tasks');
  await put(
    'project/node_modules/.bin/tasks',
    '#!/bin/sh\nbasedir=$(dirname "$0")\nexec node  "$basedir/../tasks/dist/cli.js" "$@"\n',
  );
  // pip in a virtual environment, and an editable project
  const venv = 'work/app/.venv';
  const lib = `${venv}/lib/python3.12/site-packages`;
  for (const name of ['mcp-server-git', 'app-mcp', 'from-git', 'from-file', 'gone'])
    await put(`${venv}/bin/${name}`, `#!${join(root, venv)}/bin/python3.12\nimport re\n`);
  await put(`${venv}/pyvenv.cfg`, '');
  await put(`${venv}/bin/python`, '');
  for (const name of ['app-0.1.0', 'mcp_server_git-2025.9.1'])
    await put(`${lib}/${name}.dist-info/REQUESTED`, '');
  await putDistribution(lib, 'mcp_server_git-2025.9.1', ['mcp-server-git']);
  await put('work/app/pyproject.toml', '[project]\nname = "app"\n[project.scripts]\napp-mcp = "app:main"\n');
  await put('work/app/src/app/server.py', '');
  const editable = { url: pathToFileURL(join(root, 'work/app')).href, dir_info: { editable: true } };
  await putDistribution(lib, 'app-0.1.0', ['app-mcp'], editable);
  const commit = 'a'.repeat(40);
  const git = { url: 'https://example.com/one.git', vcs_info: { vcs: 'git', commit_id: commit } };
  await putDistribution(lib, 'from_git-1.0', ['from-git'], git);
  await putDistribution(lib, 'from_file-1.0', ['from-file'], { url: 'file:///x.whl', archive_info: {} });
  const elsewhere = { ...editable, url: pathToFileURL(join(root, 'work/linked')).href };
  await putDistribution(lib, 'gone-1.0', ['gone'], elsewhere);
  // A script beside its own environment
  const apart = 'work/script/venv';
  await put(`${apart}/pyvenv.cfg`, 'home = /usr/bin\n');
  await put(`${apart}/bin/python`, '');
  const packages = `${apart}/lib/python3.12/site-packages`;
  for (const name of ['mcp-1.9.0', 'httpx-0.28.1', 'pip-25.0'])
    await put(`${packages}/${name}.dist-info/REQUESTED`, '');
  await putDistribution(packages, 'anyio-4.9.0', []);
  await put('work/script/server.py', '');
  await put('work/script/other.py', '# /// script\n# dependencies = []\n# ///\n');
  // A directory that someone else has made
  const info = 'hostile/.venv/lib/python3.12/site-packages/tool-1.0.dist-info';
  for (const name of ['entry_points.txt', 'RECORD']) await link(`${info}/${name}`, '/dev/zero');
  await put('hostile/.venv/bin/tool', `#!${root}/hostile/.venv/bin/python\n`);
  await put('hostile/.venv/bin/python', '');
  await link('hostile/node_modules/tool/package.json', '/dev/zero');
  await put('hostile/node_modules/tool/dist/main.js', '');
  await link('hostile/node_modules/.bin/tool', '../tool/dist/main.js');
  for (const name of ['pyproject.toml', 'server.py']) await link(`hostile/${name}`, '/dev/zero');
  // uv tool install, with a long path of the interpreter
  const tool = 'uv/tools/timer';
  await put(
    `${tool}/bin/timer-mcp`,
    `#!/bin/sh\n'''exec' "${join(root, tool)}/bin/python" "$0" "$@"\n' '''\n`,
  );
  await putDistribution(`${tool}/lib/python3.11/site-packages`, 'timer-3.1', ['timer-mcp', 'timer']);
  await link('local/bin/timer-mcp', '../../uv/tools/timer/bin/timer-mcp');
  // pyenv
  await put('pyenv/shims/clock', '#!/usr/bin/env bash\nexec pyenv exec "$0"\n');
  await put('pyenv/versions/3.12.1/bin/clock', `#!${join(root, 'pyenv')}/versions/3.12.1/bin/python\n`);
  await putDistribution('pyenv/versions/3.12.1/lib/python3.12/site-packages', 'clock-1.0', ['clock']);
  // go install
  const mark = Buffer.from('3077af0c9274080241e1c107e6d618e6', 'hex').toString('latin1');
  const built = (version: string) =>
    `path\texample.com/tool/cmd/tool\nmod\texample.com/tool\t${version}\th1:x=\ndep\tother\tv1.0.0\t\n`;
  const compiled = (version: string): Buffer =>
    Buffer.from(`\x7fELF${mark}another${'\0'.repeat(4_194_290)}${mark}${built(version)}${mark}`, 'latin1');
  await put('go/bin/tool', '');
  await writeFile(join(root, 'go/bin/tool'), compiled('v1.4.0'));
  await put('go/bin/devel', '');
  await writeFile(join(root, 'go/bin/devel'), compiled('(devel)'));
  await put('other/bin/native', '\x7fELF and nothing else');
  await put('other/bin/script', '#!/bin/bash\nexec something\n');
  await put('other/bin/uv-script', '#!/usr/bin/env -S uv run --script\n');
  await put('other/bin/node-script', "#!/usr/bin/env node\nimport { x } from 'x';\n");
  await put('other/bin/old-script', "#!/usr/bin/env node\nconst x = require('x');\n");
});
afterAll(() => rm(root, { recursive: true, force: true }));

function read(words: readonly string[], path: readonly string[] = []) {
  const env = { PATH: path.map((each) => join(root, each)).join(':') };
  const readFile = () => Promise.reject(new Error('no file is read'));
  return readCommandLine(words, { env, directory: root, readFile });
}

describe('a program that is installed on this machine', () => {
  test.each([
    ['npm/bin/files-mcp', 'npx://@scope/files@1.2.3#program=files-mcp'],
    ['project/node_modules/.bin/tasks', 'npx://tasks@2.0.0'],
    ['work/app/.venv/bin/mcp-server-git', 'uvx://mcp-server-git@2025.9.1'],
    [
      'work/app/.venv/bin/from-git',
      `uvx://git+https://example.com/one.git@${'a'.repeat(40)}#program=from-git`,
    ],
    ['local/bin/timer-mcp', 'uvx://timer@3.1#program=timer-mcp'],
    ['pyenv/shims/clock', 'uvx://clock@1.0'],
    ['go/bin/tool', 'go://example.com/tool/cmd/tool@v1.4.0'],
  ])('is run as its package: %s', async (path, image) => {
    const { request, notes } = await read([join(root, path), '--flag']);

    expect(request).toMatchObject({ image, cmd_arguments: ['--flag'] });
    expect(notes).toEqual([expect.stringMatching(/is a program of .+, which ToolHive installs itself$/)]);
    expect((await readLocalPath([join(root, path), 'x'], { directory: undefined })).request).toMatchObject({
      image,
      cmd_arguments: ['x'],
    });
  });

  test.each([
    ['npm/bin/linked', 'npx://ROOT/work/linked'],
    ['work/app/.venv/bin/app-mcp', 'uvx://ROOT/work/app#program=app-mcp'],
  ])('is run from its directory if it comes from there: %s', async (path, image) => {
    expect((await read([join(root, path)])).request.image).toBe(image.replace('ROOT', root));
  });

  test.each([
    ['npm/lib/node_modules/@scope/files/dist/setup.js', 'npx://@scope/files@1.2.3#program=files-setup'],
    ['project/node_modules/tasks/dist/cli.js', 'npx://tasks@2.0.0'],
    ['work/linked/dist/main.js', 'npx://ROOT/work/linked'],
  ])('can be a script that node runs: %s', async (path, image) => {
    const { request } = await read(['node', join(root, path), 'x']);

    expect(request).toMatchObject({ image: image.replace('ROOT', root), cmd_arguments: ['x'] });
  });

  test('is found behind node', async () => {
    const words = ['node', join(root, 'project/node_modules/.bin/tasks'), 'x'];

    expect((await read(words)).request).toMatchObject({ image: 'npx://tasks@2.0.0', cmd_arguments: ['x'] });
  });

  test('is found by its name, as a shell finds it', async () => {
    expect((await read(['files-mcp', 'x'], ['other/bin', 'npm/bin'])).request).toMatchObject({
      image: 'npx://@scope/files@1.2.3#program=files-mcp',
      cmd_arguments: ['x'],
    });
    await expect(read(['files-mcp'])).rejects.toThrow('the program "files-mcp" cannot be run in isolation');
  });

  test('is found in a pasted document, which gets nothing else of the user', async () => {
    const one = { command: 'files-mcp', args: ['${PATH}'] };

    const { servers } = await previewImport(JSON.stringify({ mcpServers: { one } }), join(root, 'npm/bin'));

    expect(servers).toMatchObject([
      { request: { image: 'npx://@scope/files@1.2.3#program=files-mcp', cmd_arguments: ['${PATH}'] } },
    ]);
  });

  test('keeps the variables that are set in front of it', async () => {
    const { request } = await read(['env', 'A=1', join(root, 'go/bin/tool')]);

    expect(request.env_vars).toEqual({ A: '1' });
  });

  test.each([
    ['npm/bin/inner', 'belongs to inner, which is not from a package registry'],
    ['work/app/.venv/bin/from-file', 'belongs to from-file, which is not from a package registry'],
    ['work/app/.venv/bin/gone', 'belongs to gone, which is not from a package registry'],
    ['npm/bin/gone', 'npm/bin/gone not found'],
    ['go/bin/devel', 'was built from the source of example.com/tool/cmd/tool'],
    ['other/bin/native', 'cannot be run in isolation'],
    ['other/bin/script', 'cannot be run in isolation'],
    ['other/bin/uv-script', 'is a script without the file extension'],
    ['other/bin/node-script', 'is a script without the file extension'],
  ])('is refused if no registry has it: %s', async (path, reason) => {
    await expect(read([join(root, path)])).rejects.toThrow(reason);
  });

  test.each([
    ['other/bin/uv-script', 'uv-script.py'],
    ['other/bin/node-script', 'node-script.mjs'],
    ['other/bin/old-script', 'old-script.cjs'],
  ])('needs the file extension of its language: %s', async (path, name) => {
    const hint = `rename the file to ${name}`;

    await expect(read([join(root, path)])).rejects.toMatchObject({ hint });
  });

  test.each([['npm'], ['node'], ['docker'], ['python3'], ['pip'], ['pip3.12'], ['uvicorn']])(
    'does not start others: %s',
    async (program) => {
      await put(`starters/bin/${program}`, `#!${join(root, 'work/app/.venv/bin/python')}\n`);
      const lib = 'starters/lib/python3.12/site-packages';
      await putDistribution(lib, `${program}-1.0`, [program]);

      await expect(read([program, 'anything'], ['starters/bin'])).rejects.toThrow(
        /cannot be run|does not start/,
      );
    },
  );
});

describe('a directory of others with files that never end', () => {
  test.each([
    ['hostile/.venv/bin/tool', [], 'cannot be run in isolation'],
    ['hostile/.venv/bin/python', ['-m', 'module'], 'runs a module on this machine'],
    ['hostile/node_modules/.bin/tool', [], 'cannot be run in isolation'],
    ['uv', ['run', '--directory', 'hostile', 'tool'], 'hostile/pyproject.toml is not TOML'],
    ['python3', ['hostile/server.py'], 'hostile/pyproject.toml is not a file'],
  ])('is refused: %s %j', async (program, args, reason) => {
    const path = program.includes('/') ? join(root, program) : program;

    await expect(read([path, ...args])).rejects.toThrow(reason);
  });
});

describe('a script that a virtual environment runs', () => {
  test('gets what was installed there by request', async () => {
    const { request, notes } = await read([
      join(root, 'work/script/venv/bin/python'),
      'work/script/server.py',
      'x',
    ]);

    expect(request).toMatchObject({
      image: `uvx://${join(root, 'work/script/server.py')}`,
      cmd_arguments: ['x'],
      python_with: ['httpx==0.28.1', 'mcp==1.9.0'],
    });
    expect(notes).toEqual(['as in its environment, these packages are installed: httpx==0.28.1, mcp==1.9.0']);
  });

  test.each([
    ['it names its packages itself', ['work/script/venv/bin/python', 'work/script/other.py']],
    ['no environment runs it', ['python3', 'work/script/server.py']],
    [
      'its environment has a package from another place',
      ['work/app/.venv/bin/python', 'work/script/server.py'],
    ],
  ])('gets nothing if %s', async (_why, [program = '', script = '']) => {
    const { request } = await read([program, script]);

    expect(request.python_with).toBeUndefined();
  });
});

describe('a module', () => {
  test('is the one of the project around the virtual environment', async () => {
    const { request } = await read([join(root, 'work/app/.venv/bin/python'), '-m', 'app.server', 'x']);

    expect(request).toMatchObject({
      image: `uvx://${join(root, 'work/app/src/app/server.py')}`,
      cmd_arguments: ['x'],
    });
  });

  test('is run from the package that has installed it', async () => {
    const { request } = await read([join(root, 'work/app/.venv/bin/python'), '-m', 'mcp_server_git', 'x']);

    expect(request).toMatchObject({
      image: 'uvx://mcp-server-git@2025.9.1#program=python',
      cmd_arguments: ['-m', 'mcp_server_git', 'x'],
    });
  });

  test('that nothing has installed is refused', async () => {
    const words = [join(root, 'work/app/.venv/bin/python'), '-m', 'missing.part'];

    await expect(read(words)).rejects.toThrow('python -m missing.part runs a module on this machine');
  });
});
