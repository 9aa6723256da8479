import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtempDisposable, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

/** A folder with a Git repository in `repo` and with other files beside. */
export interface SourceFolder extends AsyncDisposable {
  path: string;
  /** Runs git in the repository and returns the output. */
  git: (...words: readonly string[]) => string;
  /** Writes files of the repository and commits them. Returns the ID of the commit. */
  commit: (files: Record<string, Buffer | string>) => Promise<string>;
}

/** Creates a folder with an empty repository. */
export async function openSourceFolder(): Promise<SourceFolder> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await mkdtempDisposable(join(tmpdir(), 'thv-git-test-')));
  const tree = join(folder.path, 'repo');
  const git = (...words: readonly string[]): string =>
    execFileSync('git', ['-C', tree, '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', ...words], {
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
  await mkdir(tree);
  git('init', '--initial-branch=main');
  const everything = opened.move();
  return {
    path: folder.path,
    git,
    async commit(files) {
      for (const [name, content] of Object.entries(files)) await writeFile(join(tree, name), content);
      git('add', '--all');
      git('commit', '--allow-empty', '--message=change');
      return git('rev-parse', 'HEAD');
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** Serves the repositories in a folder with the HTTP server of Git, and its JSON files as they are. */
export async function serveSources(folder: string, host = '127.0.0.1', port = 0): Promise<Server> {
  const backend = join(execFileSync('git', ['--exec-path'], { encoding: 'utf8' }).trim(), 'git-http-backend');
  const answerGit = async (
    request: IncomingMessage,
    response: ServerResponse,
    { pathname, search }: URL,
  ): Promise<void> => {
    const child = spawn(backend, {
      env: {
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        // The repository can belong to another user than that of the server.
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
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
  const answerFile = async (response: ServerResponse, pathname: string): Promise<void> => {
    const content = await readFile(join(folder, pathname)).catch(() => undefined);
    if (content === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(content);
  };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (url.pathname.endsWith('.json')) void answerFile(response, url.pathname);
    else void answerGit(request, response, url);
  });
  await once(server.listen(port, host), 'listening');
  return server;
}

interface Repository extends AsyncDisposable {
  url: string;
  commit: string;
  /** How many requests have arrived. */
  requests: () => number;
}

/** A repository behind the HTTP server of Git, with a registry, a link to a file, and a link to a directory. */
export async function openRepository(files: Record<string, Buffer> = {}): Promise<Repository> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await openSourceFolder());
  const tree = join(folder.path, 'repo');
  await symlink('/etc/hostname', join(tree, 'file-link'));
  await symlink('/etc', join(tree, 'directory-link'));
  const commit = await folder.commit({ 'registry.json': '{"servers":{}}', ...files });
  folder.git('tag', 'v1');
  const server = await serveSources(folder.path);
  opened.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  let requests = 0;
  server.on('request', () => (requests += 1));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const everything = opened.move();
  return {
    url: `http://127.0.0.1:${port}/repo/.git`,
    commit,
    requests: () => requests,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}
