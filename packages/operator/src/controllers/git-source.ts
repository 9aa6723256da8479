import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout, clone, resolveRef } from 'isomorphic-git';
import { request as send } from 'isomorphic-git/http/node';

/** A file in a Git repository. */
export interface GitFile {
  repository: string;
  branch?: string | undefined;
  tag?: string | undefined;
  commit?: string | undefined;
  path: string;
}

/** A larger transfer or file is refused. */
const MAX_SOURCE_BYTES = 100 * 1024 * 1024;

/** Fetches a file over HTTP without running any program. Throws with a reason for people. */
export async function readGitFile(source: GitFile, signal: AbortSignal): Promise<string> {
  const { repository, branch, tag, commit, path } = source;
  if (!/^https?:\/\//.test(repository)) throw new Error(`only http and https repositories are supported`);
  if (path.startsWith('/') || path.split('/').includes('..')) throw new Error(`invalid path ${path}`);
  const folder = await mkdtemp(join(tmpdir(), 'thv-git-'));
  try {
    await clone({
      fs,
      http: boundedHttp(signal),
      dir: folder,
      url: repository,
      noCheckout: true,
      singleBranch: commit === undefined,
      noTags: tag === undefined,
      ...(commit === undefined ? { depth: 1 } : {}),
      ...(branch === undefined && tag === undefined ? {} : { ref: tag ?? branch }),
    });
    const ref = commit ?? (await resolveRef({ fs, dir: folder, ref: tag ?? branch ?? 'HEAD' }));
    // Only the one file is written, so that a hostile repository cannot place others.
    await checkout({ fs, dir: folder, ref, filepaths: [path], force: true, noUpdateHead: true });
    const file = join(folder, path);
    const { size } = await stat(file).catch(() => {
      throw new Error(`file ${path} not found in the repository`);
    });
    if (!fs.lstatSync(file).isFile()) throw new Error(`${path} is not a file`);
    if (size > MAX_SOURCE_BYTES) throw new Error(`${path} is larger than ${MAX_SOURCE_BYTES} bytes`);
    return await readFile(file, 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** HTTP requests that stop at the size limit and when the signal aborts. */
function boundedHttp(signal: AbortSignal): { request: typeof send } {
  let received = 0;
  return {
    async request(request) {
      signal.throwIfAborted();
      const response = await send(request);
      const { body } = response;
      return {
        ...response,
        ...(body === undefined ? {} : { body: bounded(body) }),
      };
      async function* bounded(chunks: AsyncIterableIterator<Uint8Array>) {
        for await (const chunk of chunks) {
          signal.throwIfAborted();
          received += chunk.length;
          if (received > MAX_SOURCE_BYTES)
            throw new Error(`the repository is larger than ${MAX_SOURCE_BYTES} bytes`);
          yield chunk;
        }
      }
    },
  };
}
