// @suite system
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { deflateSync } from 'node:zlib';
import { openRepository } from '../testing/git-repository.ts';
import { readGitFile } from './git-source.ts';
import { checkPack } from './pack-limits.ts';

const never = new AbortController().signal;

test('a file is read from the default branch, a branch, a tag, and a commit', async () => {
  await using repository = await openRepository();
  const { url, commit } = repository;

  const versions = [{}, { branch: 'main' }, { tag: 'v1' }, { commit }, { commit: commit.slice(0, 10) }];
  for (const version of versions) {
    const text = await readGitFile({ repository: url, path: 'registry.json', ...version }, never, true);
    expect(text).toBe('{"servers":{}}');
  }
});

test('a link in a repository never leads to files of the operator', async () => {
  await using repository = await openRepository();
  const read = (path: string): Promise<string> =>
    readGitFile({ repository: repository.url, path }, never, true);

  expect(await read('file-link')).toBe('/etc/hostname');
  await expect(read('directory-link/hostname')).rejects.toThrow('not found in the repository');
  await expect(read('../repo/registry.json')).rejects.toThrow('invalid path');
});

test.each(['file:///etc', 'ext::sh -c id', 'ssh://git@example.com/repo'])(
  '%s is refused',
  async (repository) => {
    await expect(readGitFile({ repository, path: 'registry.json' }, never)).rejects.toThrow(
      'only http and https repositories are supported',
    );
  },
);

test('a repository on the machine of the operator is refused before a request, under every name', async () => {
  await using repository = await openRepository();
  const { port } = new URL(repository.url);

  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]']) {
    const read = readGitFile(
      { repository: `http://${host}:${port}/repo/.git`, path: 'registry.json' },
      never,
    );
    await expect(read).rejects.toThrow('is a loopback address');
  }
  expect(repository.requests()).toBe(0);
});

test('a redirect to an address without a server is refused', async () => {
  await using opened = new AsyncDisposableStack();
  const server = createServer((_request, response) =>
    response.writeHead(302, { location: 'http://224.0.0.1/repo/.git/info/refs' }).end(),
  );
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP

  const read = readGitFile({ repository: `http://127.0.0.1:${port}/a`, path: 'registry.json' }, never, true);

  await expect(read).rejects.toThrow('224.0.0.1 is a multicast address');
});

/** A pack with one file that states a size. */
function packOf(content: Buffer, stated: number): Buffer {
  const sizes = [(3 << 4) | (stated & 0b1111) | 0x80];
  let rest = Math.floor(stated / 16);
  while (rest >= 128) {
    sizes.push((rest % 128) | 0x80);
    rest = Math.floor(rest / 128);
  }
  const count = Buffer.from([0, 0, 0, 2, 0, 0, 0, 1]);
  const file = Buffer.concat([Buffer.from([...sizes, rest]), deflateSync(content)]);
  return Buffer.concat([Buffer.from('PACK'), count, file, Buffer.alloc(20)]);
}

test('a pack is refused if it inflates to more than allowed, or to more than it states', async () => {
  const limits = { objects: 10, objectBytes: 1_000_000, totalBytes: 1_500_000 };
  const zeros = (size: number): Buffer => Buffer.alloc(size);

  await expect(checkPack(packOf(zeros(900_000), 900_000), limits)).resolves.toBeUndefined();
  await expect(checkPack(packOf(zeros(2_000_000), 2_000_000), limits)).rejects.toThrow(
    'larger than 1000000 bytes',
  );
  await expect(checkPack(packOf(zeros(50_000_000), 900_000), limits)).rejects.toThrow(/larger than 900000/);
});

test('a pack with very many objects is refused before any of them is read', async () => {
  const pack = packOf(Buffer.alloc(1), 1);
  pack.writeUInt32BE(0xff_ff_ff_ff, 8);

  const check = checkPack(pack, { objects: 50_000, objectBytes: 1_000, totalBytes: 1_000 });

  await expect(check).rejects.toThrow('more than 50000 objects');
});

test('the check of a pack lets other work proceed', async () => {
  const object = packOf(Buffer.alloc(1), 1).subarray(12, -20);
  const objects = 30_000;
  const pack = Buffer.concat([
    Buffer.from('PACK'),
    Buffer.alloc(8),
    ...Array.from({ length: objects }, () => object),
    Buffer.alloc(20),
  ]);
  pack.writeUInt32BE(objects, 8);
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);

  await checkPack(pack, { objects, objectBytes: 1_000, totalBytes: 1_000_000 });
  clearInterval(counting);

  expect(turns).toBeGreaterThan(1);
});

test('a small transfer that inflates to a large file is refused before anything inflates it', async () => {
  await using repository = await openRepository({ large: Buffer.alloc(17 * 1024 * 1024) });

  const read = readGitFile({ repository: repository.url, path: 'registry.json' }, never, true);

  await expect(read).rejects.toThrow('a file of the repository is larger than 16777216 bytes');
});
