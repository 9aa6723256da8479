import { lstat, mkdir, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { conflict } from '@toolhive/contract/failure';
import type { SourcePin } from './mount-source.ts';

/** A file or directory in a mounted directory that the server must not see. */
export interface HiddenPath {
  /** The path inside the sandbox or container. */
  target: string;
  /** The empty file or directory of ToolHive's that the server finds there instead. */
  blank: string;
  /** The file or directory that is hidden. */
  covers: SourcePin;
}

/** An empty file and an empty directory. Nothing can be written to either. */
export interface Blanks {
  file: string;
  directory: string;
}

/**
 * Creates the empty files and directories that replace hidden files for servers, in a directory that only ToolHive
 * can use.
 */
export async function makeBlanks(place: string): Promise<Blanks> {
  const blanks = { file: join(place, 'file'), directory: join(place, 'directory') };
  await mkdir(place, { recursive: true, mode: 0o755 });
  await mkdir(blanks.directory, { recursive: true, mode: 0o555 });
  const file = await open(blanks.file, 'a', 0o444).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EACCES') throw error; // the mode prevents even the owner from opening the directory again
  });
  await file?.close();
  return blanks;
}

/**
 * Throws `conflict` if a hidden file was moved after the search, because another file may be covered in its place.
 * `root` is a sandbox's root directory, in which each hidden file must already be covered.
 */
export async function verifyHidden(hidden: readonly HiddenPath[], root?: string): Promise<void> {
  for (const { target, blank, covers } of hidden) {
    const found = await lstat(covers.path, { bigint: true }).catch(() => undefined);
    if (String(found?.dev) !== covers.device || String(found?.ino) !== covers.inode) throw moved(covers.path);
    if (root === undefined) continue;
    const inside = await lstat(`${root}${target}`, { bigint: true }).catch(() => undefined);
    const empty = await stat(blank, { bigint: true });
    if (inside?.dev !== empty.dev || inside.ino !== empty.ino) throw moved(covers.path);
  }
}

function moved(path: string): Error {
  return conflict(`${path} was moved or replaced while ToolHive hid it from the server`, {
    hint: 'start the workload again',
  });
}
