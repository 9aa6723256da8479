import { rename, writeFile } from 'node:fs/promises';

/** Changes a file. Others read such files at the same time, or write them too, and must not find one half-written. */
export async function replaceFile(file: string, content: string | Buffer): Promise<void> {
  const unfinished = `${file}.${process.pid}.new`;
  await writeFile(unfinished, content);
  await rename(unfinished, file);
}
