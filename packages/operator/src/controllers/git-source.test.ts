import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtempDisposable, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { deflateSync } from 'node:zlib';
import { readGitFile } from './git-source.ts';
import { checkPack } from './pack-limits.ts';

interface Repository extends AsyncDisposable {
  url: string;
  commit: string;
  /** How many requests have arrived. */
  requests: () => number;
}

/** A repository behind the HTTP server of Git, with a registry, a link to a file, and a link to a directory. */
async function openRepository(files: Record<string, Buffer> = {}): Promise<Repository> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'thv-git-test-')));
  const tree = join(folder.path, 'repo');
  const git = (...words: readonly string[]): string =>
    execFileSync('git', ['-C', tree, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...words], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
  await mkdir(tree);
  await writeFile(join(tree, 'registry.json'), '{"servers":{}}');
  await symlink('/etc/hostname', join(tree, 'file-link'));
  await symlink('/etc', join(tree, 'directory-link'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(tree, name), content);
  git('init', '--initial-branch=main');
  git('add', '--all');
  git('commit', '--message=first');
  git('tag', 'v1');
  const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost');
    const child = spawn(backend, {
      env: {
        GIT_PROJECT_ROOT: folder.path,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'],
      },
    });
    request.pipe(child.stdin);
    const output = await buffer(child.stdout);
    const end = output.indexOf('\r\n\r\n');
    const headers = output.subarray(0, end).toString().split('\r\n');
    for (const [name = '', value = ''] of headers.map((line) => line.split(': '))) {
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(output.subarray(end + 4));
  };
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    void answer(request, response);
  });
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const everything = opened.move();
  return {
    url: `http://127.0.0.1:${port}/repo/.git`,
    commit: git('rev-parse', 'HEAD'),
    requests: () => requests,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

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
