import { rename, writeFile } from 'node:fs/promises';

/** Changes a built page. Other plugins read pages at the same time, and must not find one half-written. */
export async function replacePage(file: string, html: string): Promise<void> {
  await writeFile(`${file}.new`, html);
  await rename(`${file}.new`, file);
}
