import { execFileSync } from 'node:child_process';
import {
  mkdir,
  mkdtempDisposable,
  readFile,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { localLimits } from '../local-files.ts';
import { type SourcePin, pinSource } from '../mount-source.ts';
import type { PackageScheme } from '../source.ts';
import { copyLocal } from './local-source.ts';
import { never } from './test-rig.ts';

/** A package in a directory of its own, beside something to steal. */
async function aPackage(files: Record<string, string> = { 'package.json': '{}', 'main.js': '' }) {
  const root = await mkdtempDisposable(join(tmpdir(), 'thv-local-'));
  onTestFinished(() => root.remove());
  const folder = join(root.path, 'package');
  await mkdir(folder);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await writeFile(join(root.path, 'secret'), 'PRIVATE');
  let copies = 0;
  return {
    folder,
    outside: root.path,
    copy: async (path = folder, granted?: SourcePin, scheme: PackageScheme = 'npx') => {
      const into = join(root.path, `copy-${++copies}`);
      await mkdir(into);
      const source = { kind: 'package' as const, scheme, name: path };
      const version = await copyLocal(source, into, { granted, signal: never });
      return { version, into, files: (await readdir(into, { recursive: true })).toSorted() };
    },
  };
}

describe('the copy of a local package', () => {
  test('has the same version as long as its files are the same', async () => {
    const { folder, copy } = await aPackage();

    const [first, second] = [await copy(), await copy()];
    await writeFile(join(folder, 'main.js'), 'changed');
    const changed = await copy();

    expect(first.version).toMatch(/^local-[0-9a-f]{16}$/);
    expect(second.version).toBe(first.version);
    expect(changed.version).not.toBe(first.version);
  });

  test('has no credentials, and nothing that is installed anew', async () => {
    const { copy } = await aPackage({
      'package.json': '{}',
      'src/main.js': 'main',
      'node_modules/x/index.js': '',
      '.git/config': '',
      '.venv/bin/python': '',
      '.env': 'KEY=1',
      '.npmrc': 'strict-ssl=false',
    });

    const { files, into } = await copy();

    expect(files).toEqual(['package.json', 'src', 'src/main.js']);
    expect(await readFile(join(into, 'src/main.js'), 'utf8')).toBe('main');
  });

  test('keeps links within it, and leaves out those to files that are not copied', async () => {
    const { folder, copy } = await aPackage();
    await symlink('main.js', join(folder, 'inner.js'));
    await symlink('node_modules/.bin/x', join(folder, 'gone'));

    const { files, into } = await copy();

    expect(files).toEqual(['inner.js', 'main.js', 'package.json']);
    expect(await readlink(join(into, 'inner.js'))).toBe('main.js');
  });

  test.each(['../secret', '/etc/passwd', 'loop/../../secret'])('refuses a link to %s', async (target) => {
    const { folder, copy } = await aPackage();
    await symlink(target, join(folder, 'stolen'));

    await expect(copy()).rejects.toMatchObject({
      kind: 'unsupported',
      message: `${join(folder, 'stolen')} is a symbolic link that leads out of ${folder}`,
      hint: expect.stringContaining('replace the link'),
    });
  });

  test('refuses links that lead out of it only together', async () => {
    const { folder, copy } = await aPackage();
    await symlink('.', join(folder, 'a'));
    await symlink('a/../secret', join(folder, 'stolen'));

    await expect(copy()).rejects.toMatchObject({ message: expect.stringContaining('leads out of') });
  });

  test('refuses a named pipe instead of waiting for it', async () => {
    const { folder, copy } = await aPackage();
    execFileSync('mkfifo', [join(folder, 'pipe')]);

    await expect(copy()).rejects.toMatchObject({
      kind: 'unsupported',
      message: `${join(folder, 'pipe')} is a named pipe, not a file`,
    });
  });

  test('refuses a named pipe in place of a script', async () => {
    const { outside, copy } = await aPackage();
    execFileSync('mkfifo', [join(outside, 'server.js')]);

    await expect(copy(join(outside, 'server.js'))).rejects.toMatchObject({ kind: 'invalid' });
  });

  test.each(['package/huge', 'server.js'])('refuses the huge file %s before it is read', async (name) => {
    const { outside, folder, copy } = await aPackage();
    await writeFile(join(outside, name), '');
    await truncate(join(outside, name), localLimits.bytes + 1);

    await expect(copy(name === 'server.js' ? join(outside, name) : folder)).rejects.toMatchObject({
      kind: 'too-large',
      message: expect.stringContaining('is larger than 256 MiB'),
    });
  });

  test('refuses a directory with too many files', async () => {
    const { folder, copy } = await aPackage();
    execFileSync('sh', ['-c', `seq ${localLimits.entries} | xargs touch`], { cwd: folder });

    await expect(copy()).rejects.toMatchObject({
      kind: 'too-large',
      message: `${folder} contains more than 20000 files`,
    });
  });

  test('refuses directories that are nested too deep', async () => {
    const { folder, copy } = await aPackage();
    await mkdir(join(folder, ...Array.from({ length: localLimits.depth + 1 }, () => 'd')), {
      recursive: true,
    });

    await expect(copy()).rejects.toMatchObject({ kind: 'too-large' });
  });

  test('refuses a directory that was swapped since it was granted', async () => {
    const { folder, outside, copy } = await aPackage();
    const granted = await pinSource(folder);
    await mkdir(join(outside, 'other'));
    await writeFile(join(outside, 'other/package.json'), '{}');
    await rename(folder, join(outside, 'before'));
    await rename(join(outside, 'other'), folder);

    await expect(copy(folder, granted)).rejects.toMatchObject({
      kind: 'conflict',
      hint: expect.stringContaining('thv restart'),
    });
  });

  test('refuses a script that was replaced by a link', async () => {
    const { folder, outside, copy } = await aPackage();
    const script = join(folder, 'main.js');
    const granted = await pinSource(script);
    await rm(script);
    await symlink(join(outside, 'secret'), script);

    await expect(copy(script, granted)).rejects.toMatchObject({ kind: 'conflict' });
  });

  test('accepts a script that an editor has saved as a new file', async () => {
    const { folder, copy } = await aPackage();
    const script = join(folder, 'main.js');
    const granted = await pinSource(script);
    await writeFile(`${script}.new`, 'new');
    await rename(`${script}.new`, script);

    expect(await copy(script, granted)).toMatchObject({ files: ['main.js'] });
  });

  test.each([
    ['npx', 'a directory with a package.json, a script'],
    ['uvx', 'a directory with a pyproject.toml, a script (.py), or a wheel'],
    ['go', 'a directory with a go.mod'],
  ] as const)('says what %s:// needs', async (scheme, hint) => {
    const { folder, outside, copy } = await aPackage({ 'readme.md': '' });

    for (const path of [folder, join(outside, 'secret')]) {
      await expect(copy(path, undefined, scheme)).rejects.toMatchObject({
        kind: 'unsupported',
        message: `${path} is not a package for ${scheme}://`,
        hint: expect.stringContaining(hint),
      });
    }
  });

  test('says that a path does not exist, or is not absolute', async () => {
    const { folder, copy } = await aPackage();

    await expect(copy(`${folder}x`)).rejects.toMatchObject({
      kind: 'not-found',
      message: `${folder}x not found`,
    });
    await expect(copy('./server')).rejects.toMatchObject({ kind: 'invalid' });
  });
});
