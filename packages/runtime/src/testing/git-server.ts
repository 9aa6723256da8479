import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A Git server over HTTP on a loopback port, with git's own program for servers. */
export interface GitServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** The requests so far, as `METHOD path`. */
  readonly requests: readonly string[];
  /** Commits files to a repository, which is created if necessary. Returns the commit. */
  commit: (repository: string, files: Readonly<Record<string, string | Buffer>>) => Promise<string>;
  /** Runs git in a repository. */
  git: (repository: string, ...args: string[]) => Promise<string>;
  /** Adds a symbolic link to a repository with the next commit. */
  link: (repository: string, path: string, target: string) => Promise<void>;
}

export async function openGitServer(): Promise<GitServer> {
  const folder = await mkdtemp(join(tmpdir(), 'thv-git-'));
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    requests.push(`${request.method} ${request.url}`);
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: folder,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
        PATH_INFO: decodeURIComponent(url.pathname),
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REMOTE_ADDR: '127.0.0.1',
      },
    });
    request.pipe(backend.stdin).on('error', () => {}); // it may have answered already
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    backend.on('close', () => {
      const output = Buffer.concat(chunks);
      const end = output.indexOf('\r\n\r\n');
      const lines = output.subarray(0, end).toString().split('\r\n');
      const headers = lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]); // each is a header
      const status = Number(headers.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200);
      response.writeHead(status, Object.fromEntries(headers.filter(([name]) => name !== 'Status')));
      response.end(output.subarray(end + 4));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const place = (repository: string) => join(folder, repository);
  const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  const git = async (repository: string, ...args: string[]): Promise<string> => {
    const { stdout } = await run('git', [...identity, '-C', place(repository), ...args]);
    return stdout.trim();
  };
  const create = async (repository: string): Promise<void> => {
    await mkdir(place(repository), { recursive: true });
    await run('git', ['init', '--quiet', '--initial-branch=main', place(repository)]);
  };
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on TCP
    requests,
    git,
    async commit(repository, files) {
      await create(repository);
      for (const [path, content] of Object.entries(files)) {
        await mkdir(dirname(join(place(repository), path)), { recursive: true });
        await writeFile(join(place(repository), path), content);
      }
      await git(repository, 'add', '--all');
      await git(repository, 'commit', '--quiet', '--allow-empty', '--message', 'a change');
      return git(repository, 'rev-parse', 'HEAD');
    },
    async link(repository, path, target) {
      await create(repository);
      await symlink(target, join(place(repository), path));
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
