import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openArchive } from './archive.ts';
import { BundleStore } from './store.ts';
import { aManifest } from './testing/manifests.ts';
import { type RawEntry, type RawZip, rawZip } from './testing/raw-zip.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-bundles-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const never = new AbortController().signal;
const manifest: RawEntry = { name: 'manifest.json', content: JSON.stringify(aManifest()) };
const server: RawEntry = { name: 'server/index.js', content: 'console.log(1)' };
const LINK = 0o120777;
const secondManifest: RawEntry = {
  name: 'manifest.json',
  content: JSON.stringify(aManifest({ name: 'other' })),
};

/** Archives, each with what is wrong in it. */
const hostile: [what: string, entries: RawEntry[], message: RegExp, zip?: RawZip][] = [
  [
    'a path that leads out of the bundle',
    [manifest, { name: '../evil.js', content: 'x' }],
    /not a bundle: invalid relative path/,
  ],
  [
    'a path that leads out in the middle',
    [manifest, { name: 'a/../../evil.js', content: 'x' }],
    /invalid relative path/,
  ],
  ['an absolute path', [manifest, { name: '/tmp/evil.js', content: 'x' }], /absolute path/],
  ['a path of Windows', [manifest, { name: 'C:/evil.js', content: 'x' }], /absolute path/],
  ['a path with backslashes', [manifest, { name: '..\\evil.js', content: 'x' }], /invalid characters/],
  [
    'a path with an empty part',
    [manifest, { name: 'a//b.js', content: 'x' }],
    /"a\/\/b\.js" in .* is not plain/,
  ],
  ['a path with a dot', [manifest, { name: './manifest.json', content: '{}' }], /is not plain/],
  [
    'a path with a line break',
    [manifest, { name: 'a\nb.js', content: 'x' }],
    /is not a path on every system/,
  ],
  [
    'a path with a NUL character',
    [manifest, { name: 'index.js\0.png', content: 'x' }],
    /is not a path on every system/,
  ],
  [
    'a path that is too deep',
    [manifest, { name: `${'a/'.repeat(60)}b`, content: 'x' }],
    /deeper than 40 folders/,
  ],
  ['a path that is too long', [manifest, { name: 'a'.repeat(300), content: 'x' }], /is too long/],
  [
    'a symbolic link',
    [manifest, { name: 'notes', content: '/etc/passwd', mode: LINK }],
    /"notes" in .* is a symbolic link/,
  ],
  [
    'a link to a folder above and a file behind it',
    [manifest, { name: 'up', content: '../..', mode: LINK }, { name: 'up/evil.js', content: 'x' }],
    /is a symbolic link/,
  ],
  ['a device', [manifest, { name: 'disk', mode: 0o060644 }], /is a device/],
  ['a named pipe', [manifest, { name: 'pipe', mode: 0o010644 }], /is a named pipe/],
  ['two manifests', [manifest, secondManifest], /contains "manifest\.json" twice/],
  [
    'names that differ only in case',
    [manifest, { name: 'Manifest.JSON', content: '{}' }],
    /which are the same file on other systems/,
  ],
  [
    'names that differ only in their normalization',
    [manifest, { name: 'caf\u00e9.js', content: 'a' }, { name: 'cafe\u0301.js', content: 'b' }],
    /which are the same file/,
  ],
  [
    'a file that is also a folder',
    [manifest, { name: 'server', content: 'x' }, server],
    /which are the same file|contains "server" twice/,
  ],
  [
    'a folder with content',
    [manifest, { name: 'server/', content: 'x', mode: 0o040755 }],
    /the folder "server\/" in .* has content/,
  ],
  [
    'a folder that is named like a file',
    [manifest, { name: 'server', content: '', mode: 0o040755 }],
    /both a file and a folder/,
  ],
  ['an encrypted file', [manifest, { ...server, flags: 1 }], /is encrypted/],
  [
    'an unknown compression',
    [manifest, { ...server, method: 14, content: 'x' }],
    /unknown compression method 14/,
  ],
  [
    'other data before the archive',
    [manifest, server],
    /other data before its first file|signature/,
    { before: Buffer.from('#!/bin/sh\n') },
  ],
  [
    'other data behind the archive',
    [manifest, server],
    /not a bundle: .*comment/i,
    { after: Buffer.from('x') },
  ],
  [
    'a second archive behind it',
    [manifest, server],
    /not a bundle|overlaps|other data before/,
    { after: rawZip([secondManifest]) },
  ],
  [
    'a second archive in the comment',
    [manifest, server],
    /not a bundle|overlaps|other data before/,
    { comment: rawZip([secondManifest]) },
  ],
  [
    'another name in the local header',
    [manifest, { ...server, local: { name: 'server/other.js' } }],
    /described in two different ways/,
  ],
  [
    'another size in the local header',
    [manifest, { ...server, local: { size: 3 } }],
    /described in two different ways/,
  ],
  [
    'another compression in the local header',
    [manifest, { ...server, local: { method: 0 } }],
    /described in two different ways/,
  ],
  [
    'files that share their bytes',
    [manifest, server, { ...server, dataOf: 1, name: 'server/index.js2' }],
    /overlaps with another file|two different ways/,
  ],
  ['a file with another checksum', [{ ...manifest, sum: 7 }], /is damaged/],
  ['a file that is larger than announced', [{ ...manifest, size: 10 }], /cannot be unpacked/],
  ['a file that is smaller than announced', [{ ...manifest, size: 100_000 }], /cannot be unpacked/],
  ['no manifest', [server], /has no manifest\.json/],
  ['a manifest in a folder', [{ ...manifest, name: 'notes/manifest.json' }], /has no manifest\.json/],
  ['a manifest with another spelling', [{ ...manifest, name: 'MANIFEST.json' }], /has no manifest\.json/],
];

describe('a bundle with', () => {
  test.each(hostile)('%s is refused without a trace', async (_what, entries, message, zip) => {
    const { store, directory, path } = await aBundle(rawZip(entries, zip));

    const obtained = store.obtain({ place: path }, call);

    await expect(obtained).rejects.toThrow(message);
    await expect(obtained).rejects.toMatchObject({
      kind: expect.stringMatching(/^(invalid|unsupported|too-large)$/),
    });
    expect(await readdir(directory)).toEqual([]);
    expect(await everythingIn(folder)).not.toContain('evil.js');
  });

  test.each([
    [
      'a file of 2 GiB',
      [{ ...server, size: 2 * 1024 ** 3, local: { size: 2 * 1024 ** 3 } }],
      'larger than 1024 MiB',
    ],
    [
      'much more content than bytes',
      [{ ...server, content: Buffer.alloc(40 * 1024 ** 2) }],
      'more than 100 times larger',
    ],
    ['a manifest of 8 MiB', [{ ...manifest, content: ' '.repeat(8 * 1024 ** 2) }], 'larger than 4 MiB'],
    [
      'too many files',
      Array.from({ length: 50_001 }, (_, index) => ({ name: `f${index}` })),
      'more than 50000 files',
    ],
  ])('%s is too large', async (_what, entries: RawEntry[], message) => {
    const first = entries[0]?.name === 'manifest.json' ? [] : [manifest];
    const { store, directory, path } = await aBundle(rawZip([...first, ...entries]));

    const obtained = store.obtain({ place: path }, call);

    await expect(obtained).rejects.toMatchObject({
      kind: 'too-large',
      message: expect.stringContaining(message),
    });
    expect(await readdir(directory)).toEqual([]);
  });
});

test('a set-user-ID program of a bundle loses that right, and keeps its content', async () => {
  const { path } = await aBundle(rawZip([manifest, { name: 'run', content: '#!/bin/sh\n', mode: 0o104755 }]));
  const into = await mkdtemp(join(folder, 'out-'));

  await using archive = await openArchive(path, path);
  await archive.extract(into, never);

  const { stat } = await import('node:fs/promises');
  expect((await stat(join(into, 'run'))).mode & 0o7777).toBe(0o755);
});

test('other text than an archive is no bundle', async () => {
  const { store, path } = await aBundle(Buffer.from('<html>Sign in</html>'));

  await expect(store.obtain({ place: path }, call)).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining('is not a bundle'),
    hint: expect.stringContaining('zip file with a manifest.json'),
  });
});

test('a signature of the official tool is accepted, and other text that looks like one is not', async () => {
  const zip = rawZip([manifest, server]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(3);
  const signature = [Buffer.from('MCPB_SIG_V1'), length, Buffer.from('abc'), Buffer.from('MCPB_SIG_END')];
  const signed = await aBundle(Buffer.concat([zip, ...signature]));
  const wrong = await aBundle(Buffer.concat([zip, Buffer.from('x'), ...signature.slice(1)]));

  expect(await signed.store.obtain({ place: signed.path }, call)).toMatchObject({
    manifest: { name: 'notes' },
  });
  await expect(wrong.store.obtain({ place: wrong.path }, call)).rejects.toThrow(/is not a bundle/);
});

const call = {
  report: () => {},
  signal: never,
  download: () => Promise.reject(new Error('nothing is downloaded here')),
};

async function aBundle(content: Buffer) {
  const place = await mkdtemp(join(folder, 'case-'));
  const directory = join(place, 'store');
  await mkdir(directory);
  const path = join(place, 'server.mcpb');
  await writeFile(path, content);
  return { store: new BundleStore(directory), directory, path };
}

async function everythingIn(place: string): Promise<string[]> {
  const entries = await readdir(place, { recursive: true, withFileTypes: true });
  return entries.map(({ name }) => name);
}
