// @suite system
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { findNpm } from './process/installers/npm.ts';
import { findUv } from './process/installers/uv-program.ts';
import { toolEnvironment } from './version-managers.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-managers-'));
  return () => rm(folder, { recursive: true, force: true });
});

async function program(path: string, text: string): Promise<string> {
  const place = join(folder, path);
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, text);
  await chmod(place, 0o755);
  return place;
}

/** A binary, which is what the launchers lead to. */
async function binary(path: string): Promise<string> {
  const place = join(folder, path);
  await mkdir(dirname(place), { recursive: true });
  await copyFile('/bin/true', place);
  return place;
}

/** A version manager that finds its tools only through a variable. */
const manager = (variable: string) =>
  `#!/bin/sh\n[ -n "$${variable}" ] || { echo "no such tool" >&2; exit 1; }\necho "$${variable}/versions/1/bin/$2"\n`;

test.each([
  ['pyenv', 'PYENV_ROOT'],
  ['asdf', 'ASDF_DATA_DIR'],
  ['asdf', 'ASDF_DIR'],
  ['mise', 'MISE_DATA_DIR'],
  ['rtx', 'RTX_DATA_DIR'],
  ['proto', 'PROTO_HOME'],
])('finds the uv that %s keeps in %s', async (name, variable) => {
  const uv = await binary('root/versions/1/bin/uv');
  await program(`bin/${name}`, manager(variable));
  await program('shims/uv', `#!/bin/sh\nexec ${name} exec uv "$@"\n`);
  const PATH = `${join(folder, 'shims')}:${join(folder, 'bin')}:/usr/bin:/bin`;

  const found = await findUv({ env: { PATH, HOME: join(folder, 'home'), [variable]: join(folder, 'root') } });

  expect(found).toBe(uv);
});

test('finds the uv behind a link to a version manager that is not on PATH', async () => {
  const uv = await binary('root/versions/1/bin/uv');
  const mise = await program('tools/mise', manager('MISE_DATA_DIR'));
  await mkdir(join(folder, 'shims'));
  await symlink(mise, join(folder, 'shims/uv'));
  const PATH = `${join(folder, 'shims')}:/usr/bin:/bin`;

  expect(await findUv({ env: { PATH, MISE_DATA_DIR: join(folder, 'root') } })).toBe(uv);
});

test('says that a launcher leads nowhere, and names the launcher', async () => {
  const shim = await program('shims/uv', '#!/bin/sh\nexit 1\n');

  const finding = findUv({ env: { PATH: dirname(shim), HOME: folder } });

  await expect(finding).rejects.toThrow(`cannot find the uv binary: ${shim} is a launcher that starts it`);
});

test.each(['VOLTA_HOME', 'NVM_DIR', 'FNM_DIR', 'N_PREFIX', 'NODENV_ROOT', 'ASDF_DATA_DIR', 'MISE_DATA_DIR'])(
  'finds the npm that a launcher finds with %s, by the name of the launcher',
  async (variable) => {
    const launcher = await program(
      'tools/launcher',
      `#!/bin/sh\n[ "$(basename "$0")" = npm ] && echo "$${variable}/node_modules"\n`,
    );
    await program('root/node_modules/npm/bin/npm-cli.js', '');
    await mkdir(join(folder, 'shims'));
    await symlink(launcher, join(folder, 'shims/npm'));
    const PATH = `${join(folder, 'shims')}:/usr/bin:/bin`;

    const found = await findNpm({ env: { PATH, [variable]: join(folder, 'root') } });

    expect(found).toBe(join(folder, 'root/node_modules/npm'));
  },
);

test('gives a tool that is asked for its place no other variable', () => {
  const env = {
    PATH: '/bin',
    HOME: '/home/ada',
    PYENV_ROOT: '/opt/pyenv',
    NODE_OPTIONS: '-r ./x',
    TOKEN: 'secret',
  };

  expect(toolEnvironment(env)).toEqual({ PATH: '/bin', HOME: '/home/ada', PYENV_ROOT: '/opt/pyenv' });
});
