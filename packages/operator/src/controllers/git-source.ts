import * as fs from 'node:fs/promises';
import type { WriteFileOptions } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { GuardedRequest } from '@toolhive/outgoing/guarded-fetch';
import { clone, expandOid, readBlob, resolveRef } from 'isomorphic-git';
import type { PromiseFsClient } from 'isomorphic-git';
import { gitTransport } from './git-transport.ts';
import { checkPack } from './pack-limits.ts';

/** A file in a Git repository. */
export interface GitFile {
  repository: string;
  branch?: string | undefined;
  tag?: string | undefined;
  commit?: string | undefined;
  path: string;
}

/** A larger transfer is refused. The library holds two to three copies of a transfer in memory. */
const MAX_TRANSFER_BYTES = 24 * 1024 * 1024;
/** A larger file is refused, also if another one is read, because its unpacked content is in memory for a moment. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

const PACK_LIMITS = { objects: 50_000, objectBytes: MAX_FILE_BYTES, totalBytes: 256 * 1024 * 1024 };

/**
 * Fetches a file over HTTP without running any program, from addresses that `reach` allows. Throws with a reason for
 * people.
 */
export async function readGitFile(
  source: GitFile,
  signal: AbortSignal,
  reach: GuardedRequest['allowPrivate'] = 'others',
): Promise<string> {
  const { repository, branch, tag, commit, path } = source;
  if (!/^https?:\/\//.test(repository)) throw new Error(`only http and https repositories are supported`);
  if (path.startsWith('/') || path.split('/').includes('..')) throw new Error(`invalid path ${path}`);
  const files = checkedFiles();
  await using http = gitTransport({ reach, maxBytes: MAX_TRANSFER_BYTES, signal });
  const folder = await fs.mkdtemp(join(tmpdir(), 'thv-git-'));
  try {
    await clone({
      fs: files,
      http,
      dir: folder,
      url: repository,
      noCheckout: true,
      singleBranch: commit === undefined,
      noTags: tag === undefined,
      ...(commit === undefined ? { depth: 1 } : {}),
      ...(branch === undefined && tag === undefined ? {} : { ref: tag ?? branch }),
    });
    const ref = commit ?? (await resolveRef({ fs: files, dir: folder, ref: tag ?? branch ?? 'HEAD' }));
    // Read from the object store. In a work tree, a symbolic link of the repository could lead to files of the operator.
    const { blob } = await readBlob({
      fs: files,
      dir: folder,
      oid: await commitOf(files, folder, ref),
      filepath: path,
    }).catch((cause: unknown) => {
      throw new Error(`file ${path} not found in the repository`, { cause });
    });
    if (blob.length > MAX_FILE_BYTES) throw new Error(`${path} is larger than ${MAX_FILE_BYTES} bytes`);
    return new TextDecoder().decode(blob);
  } finally {
    await fs.rm(folder, { recursive: true, force: true });
  }
}

/** The object ID of a commit, also if the name is abbreviated. */
function commitOf(files: PromiseFsClient, folder: string, ref: string): Promise<string> {
  return /^[0-9a-f]{40}$/.test(ref) ? Promise.resolve(ref) : expandOid({ fs: files, dir: folder, oid: ref });
}

/** The same bytes, without a copy. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** A file system for isomorphic-git that refuses a pack before anything unpacks the pack. */
function checkedFiles(): PromiseFsClient {
  return {
    promises: {
      ...fs,
      async writeFile(path: string, content: Buffer | string, options?: WriteFileOptions) {
        if (path.endsWith('.pack')) await checkPack(viewOf(content as Uint8Array), PACK_LIMITS);
        await fs.writeFile(path, content, options);
      },
    },
  };
}
