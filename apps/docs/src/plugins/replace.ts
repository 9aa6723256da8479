import { rename, writeFile } from 'node:fs/promises';

/** Replaces a file atomically, because other processes read and write the same files. */
export async function replaceFile(file: string, content: string | Buffer): Promise<void> {
  const unfinished = `${file}.${process.pid}.new`;
  await writeFile(unfinished, content);
  await rename(unfinished, file);
}
