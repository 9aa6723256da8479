import { execFile } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openArchive } from './archive.ts';
import { packBundle } from './pack.ts';
import { openFound } from './packed-files.ts';
import { aManifest } from './testing/manifests.ts';

const run = promisify(execFile);
const official = join(import.meta.dirname, '../../../node_modules/.bin/mcpb');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-pack-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function aDirectory(files: Record<string, string>, manifest: object = aManifest()): Promise<string> {
  const directory = await mkdtemp(join(folder, 'server-'));
  for (const [path, text] of Object.entries({ 'manifest.json': JSON.stringify(manifest), ...files })) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return directory;
}

async function namesIn(bundle: string): Promise<string[]> {
  await using archive = await openArchive(bundle, bundle);
  return archive.files.map(({ path }) => path);
}

describe('a packed directory', () => {
  test('is a bundle that the official tool unpacks and accepts', async () => {
    const directory = await aDirectory({ 'server/index.js': 'console.log(1)', 'server/run': '#!/bin/sh\n' });
    await chmod(join(directory, 'server/run'), 0o755);
    const bundle = `${directory}.mcpb`;

    await packBundle(directory, bundle);
    await run(official, ['unpack', bundle, `${directory}-out`]);
    const { stdout } = await run(official, ['validate', `${directory}-out/manifest.json`]);

    expect(stdout).toContain('Manifest schema validation passes!');
    expect(await readFile(`${directory}-out/server/index.js`, 'utf8')).toBe('console.log(1)');
    await using archive = await openArchive(bundle, bundle);
    expect(archive.files.filter(({ isExecutable }) => isExecutable).map(({ path }) => path)).toEqual([
      'server/run',
    ]);
  });

  test('always gives the same bytes, whatever the time, the order, and the time zone', async () => {
    const one = await aDirectory({ 'a.js': '1', 'b/c.js': '2' });
    const other = await aDirectory({ 'b/c.js': '2', 'a.js': '1' });
    const program = `import { packBundle } from '${join(import.meta.dirname, 'pack.ts')}'; const [, directory] = process.argv; await packBundle(directory, directory + '.mcpb')`;

    for (const [directory, TZ] of [
      [one, 'UTC'],
      [other, 'Asia/Tokyo'],
    ] as const) {
      const env = { ...process.env, TZ, NODE_OPTIONS: '' };
      await run(process.execPath, ['--input-type=module', '-e', program, directory], { env });
    }

    expect(await readFile(`${one}.mcpb`)).toEqual(await readFile(`${other}.mcpb`));
  });

  test('contains no credentials, even if its patterns include them', async () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIIE\n';
    const secret = [
      '.env',
      '.env.production',
      '.npmrc',
      'config/.netrc',
      '.git/config',
      'id_rsa',
      'server.pem',
      '.ssh/id',
      'old.mcpb',
    ];
    const files = Object.fromEntries(secret.map((path) => [path, key]));
    const directory = await aDirectory({
      ...files,
      'lib/cacert.pem': '-----BEGIN CERTIFICATE-----\n',
      'index.js': '1',
      '.mcpbignore': '!.env\n!.git\n!id_rsa\n!*.pem\n',
    });

    const { omitted } = await packBundle(directory, `${directory}.mcpb`);

    expect((await namesIn(`${directory}.mcpb`)).toSorted()).toEqual([
      'index.js',
      'lib/cacert.pem',
      'manifest.json',
    ]);
    expect(omitted).toContain('.env');
  });

  test('leaves out what the official tool leaves out, and what .mcpbignore lists', async () => {
    const directory = await aDirectory({
      '.mcpbignore': '# tests\ntests/\n*.tmp\n',
      'tests/a.js': '1',
      'a.tmp': '1',
      'debug.log': '1',
      'index.js.map': '1',
      'node_modules/.bin/x': '1',
      'node_modules/x/index.js': '1',
      'package-lock.json': '{}',
      'index.js': '1',
    });
    const theirs = `${directory}-theirs.mcpb`;

    await packBundle(directory, `${directory}.mcpb`);
    await run(official, ['pack', directory, theirs]);

    const ours = (await namesIn(`${directory}.mcpb`)).toSorted();
    expect(ours).toEqual(['index.js', 'manifest.json', 'node_modules/x/index.js']);
    expect((await namesIn(theirs)).toSorted()).toEqual(ours);
  });

  test('contains the target of a link in it, and no link leads out of it', async () => {
    const directory = await aDirectory({ 'real.js': '1' });
    await symlink('real.js', join(directory, 'link.js'));
    await packBundle(directory, `${directory}.mcpb`);
    await symlink('/etc/hostname', join(directory, 'out.js'));

    expect((await namesIn(`${directory}.mcpb`)).toSorted()).toEqual(['link.js', 'manifest.json', 'real.js']);
    await expect(packBundle(directory, `${directory}-2.mcpb`)).rejects.toThrow(
      /out\.js is a link that does not lead/,
    );
    expect(await readdir(folder)).not.toContainEqual(expect.stringContaining('-2.mcpb'));
  });

  test.each([
    [{ author: undefined }, /manifest\.json is invalid: author: /],
    [{ icon: 'missing.png' }, /the icon "missing\.png" is not a PNG file/],
    [{ icon: 'index.js' }, /the icon "index\.js" is not a PNG file/],
    [{ icon: '/etc/hostname' }, /is not a PNG file/],
  ])('with %j is refused like by the official validation', async (changes, message) => {
    const directory = await aDirectory({ 'index.js': '1' }, aManifest(changes));
    const validation = run(official, ['validate', join(directory, 'manifest.json')]);

    await expect(packBundle(directory, `${directory}.mcpb`)).rejects.toThrow(message);
    await expect(validation).rejects.toThrow();
  });

  test.each(['manifest.json', '.mcpbignore', 'icon.png'])(
    'is packed or refused without reading a device without an end: %s',
    async (name) => {
      const directory = await aDirectory({ 'server/index.js': '' }, aManifest({ icon: 'icon.png' }));
      await rm(join(directory, name), { force: true });
      await symlink('/dev/zero', join(directory, name));

      await expect(packBundle(directory, `${directory}.mcpb`)).rejects.toThrow(
        /has no manifest\.json|is not a PNG file/,
      );
    },
  );

  test('contains no file that a link has replaced meanwhile', async () => {
    const directory = await aDirectory({ 'server/index.js': '' });
    const [file, elsewhere] = [join(directory, 'server', 'key.txt'), join(folder, 'server', 'key.txt')];
    await mkdir(dirname(elsewhere), { recursive: true });
    await writeFile(elsewhere, 'SECRET');

    await writeFile(file, '');
    await rename(join(directory, 'server'), join(directory, 'moved'));
    await symlink(dirname(elsewhere), join(directory, 'server'));
    const opened = openFound(file, await realpath(directory));

    await expect(opened).rejects.toThrow('was replaced while the bundle was packed');
  });

  test('without a manifest is refused with where to read about it', async () => {
    const directory = await mkdtemp(join(folder, 'empty-'));

    await expect(packBundle(directory, `${directory}.mcpb`)).rejects.toMatchObject({
      kind: 'not-found',
      hint: expect.stringContaining('MANIFEST.md'),
    });
  });
});
