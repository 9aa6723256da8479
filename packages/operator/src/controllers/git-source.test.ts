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
import { readGitFile } from './git-source.ts';

interface Repository extends AsyncDisposable {
  url: string;
  commit: string;
}

/** A repository behind the HTTP server of Git, with a registry, a link to a file, and a link to a directory. */
async function openRepository(): Promise<Repository> {
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
  const server = createServer((request, response) => void answer(request, response));
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
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

const never = new AbortController().signal;

test('a file is read from the default branch, a branch, a tag, and a commit', async () => {
  await using repository = await openRepository();
  const { url, commit } = repository;

  const versions = [{}, { branch: 'main' }, { tag: 'v1' }, { commit }, { commit: commit.slice(0, 10) }];
  for (const version of versions) {
    const text = await readGitFile({ repository: url, path: 'registry.json', ...version }, never);
    expect(text).toBe('{"servers":{}}');
  }
});

test('a link in a repository never leads to files of the operator', async () => {
  await using repository = await openRepository();
  const read = (path: string): Promise<string> => readGitFile({ repository: repository.url, path }, never);

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
