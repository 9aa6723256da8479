import { mkdtemp, rm } from 'node:fs/promises';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clone, expandOid, readBlob, resolveRef } from 'isomorphic-git';
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
    // Read from the object store. In a work tree, a symbolic link of the repository could lead to files of the operator.
    const { blob } = await readBlob({
      fs,
      dir: folder,
      oid: await commitOf(folder, ref),
      filepath: path,
    }).catch((cause: unknown) => {
      throw new Error(`file ${path} not found in the repository`, { cause });
    });
    if (blob.length > MAX_SOURCE_BYTES) throw new Error(`${path} is larger than ${MAX_SOURCE_BYTES} bytes`);
    return new TextDecoder().decode(blob);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The object ID of a commit, also if the name is abbreviated. */
function commitOf(folder: string, ref: string): Promise<string> {
  return /^[0-9a-f]{40}$/.test(ref) ? Promise.resolve(ref) : expandOid({ fs, dir: folder, oid: ref });
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
