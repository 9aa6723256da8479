import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import { ZipFile } from 'yazl';

/** A file to pack: its content, or how to open the file of this machine that contains it, which is closed after that. */
export interface FileToPack {
  path: string;
  content: Buffer | { size: number; open: () => Promise<FileHandle> };
  isExecutable: boolean;
}

/** The earliest time that a zip file can contain, in every time zone. */
const noTime = (): Date => new Date(1980, 0, 1);

/** Writes a bundle. The same files give the same bytes. An existing file is replaced only by a complete bundle. */
export async function writeArchive(files: readonly FileToPack[], output: string): Promise<void> {
  const zip = new ZipFile();
  for (const { path, content, isExecutable } of files.toSorted(byPath)) {
    const options = {
      mtime: noTime(),
      mode: isExecutable ? 0o100755 : 0o100644,
      compressionLevel: 9,
      forceDosTimestamp: true, // other times depend on the time zone
    };
    if (Buffer.isBuffer(content)) zip.addBuffer(content, path, options);
    else {
      zip.addReadStreamLazy(path, { ...options, size: content.size }, (told) => {
        const failed = (error: unknown): boolean => zip.emit('error', error);
        const end = Math.max(content.size - 1, 0); // the file may be growing
        content
          .open()
          .then((file) => file.createReadStream({ end }).once('error', failed))
          .then((stream) => told(null, stream), failed);
      });
    }
  }
  zip.end();
  const staged = `${output}.${randomUUID()}.new`;
  try {
    const failed = new Promise<never>((_, reject) => {
      zip.on('error', reject); // of a file that cannot be read
    });
    await Promise.race([pipeline(zip.outputStream, createWriteStream(staged, { flags: 'wx' })), failed]);
    await rename(staged, output);
  } catch (cause) {
    throw unavailable(`cannot write ${output}: ${messageOf(cause)}`, { hint: 'check the directory', cause });
  } finally {
    await rm(staged, { force: true });
  }
}

const byPath = (one: FileToPack, other: FileToPack): number => (one.path < other.path ? -1 : 1);
