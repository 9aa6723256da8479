import { copyFile, glob, readFile, rename, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** How hard Brotli tries: `small` takes the processor half a minute, `quick` less than a second and a tenth more bytes. */
const brotliQuality = { quick: 5, small: 11 } as const;
export type Effort = keyof typeof brotliQuality;

/** The file types that are worth compressing. Pictures and fonts are already compressed. */
const texts = '**/*.{css,html,js,json,md,svg,txt,webmanifest,xml,yaml}';

/** The file in a folder of compressed files with the compression effort. Written after all other files. */
const markFile = '.compressed';

/**
 * Writes the Brotli and gzip versions beside each text file of a built site. Files that have not changed since
 * an earlier build is taken from there. Does nothing when that has been done, with no less effort.
 */
export async function compressSite(folder: string, effort: Effort, earlier?: string): Promise<void> {
  if (await isCompressed(folder, effort)) return;
  const kept = earlier !== undefined && (await isCompressed(earlier, effort)) ? earlier : undefined;
  const paths = (await Array.fromAsync(glob(texts, { cwd: folder }))).values();
  // As many at once as there are processors, all of them from one list.
  const work = async (): Promise<void> => {
    for (const path of paths) await compressFile(folder, path, brotliQuality[effort], kept);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  await writeFile(join(folder, markFile), effort);
}

async function isCompressed(folder: string, effort: Effort): Promise<boolean> {
  const done = await readFile(join(folder, markFile), 'utf8').catch(() => ''); // not yet
  return Object.hasOwn(brotliQuality, done) && brotliQuality[done as Effort] >= brotliQuality[effort];
}

async function compressFile(folder: string, path: string, quality: number, kept?: string): Promise<void> {
  const file = join(folder, path);
  const text = await readFile(file);
  if (kept !== undefined) {
    const before = await readFile(join(kept, path)).catch(() => undefined); // there was no such file
    if (before?.equals(text)) {
      for (const end of ['.br', '.gz']) await copyFile(join(kept, path + end), file + end);
      return;
    }
  }
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
  };
  await replaceFile(`${file}.br`, await promisify(brotliCompress)(text, { params }));
  await replaceFile(`${file}.gz`, await promisify(gzip)(text, { level: 9 }));
}

/** In one step: the site may be served meanwhile. */
async function replaceFile(path: string, bytes: Buffer): Promise<void> {
  await writeFile(`${path}.part`, bytes);
  await rename(`${path}.part`, path);
}
