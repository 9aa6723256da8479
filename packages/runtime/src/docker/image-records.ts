import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { readContents } from '../contents/recorded.ts';
import type { PackageContents } from '../runtime.ts';

/** What the daemon knows of an image that it built from a package. */
export interface ImageRecord {
  /** The digest of the image's configuration, which the engine computes from its content. */
  id: string;
  /** What was downloaded. Absent for local packages, and for packages whose content cannot be pinned. */
  contents?: PackageContents | undefined;
}

const StoredRecord = z.object({ id: z.string(), contents: z.unknown().optional() });

/**
 * The records of images, by their name. They are the daemon's own files, because a package that runs code during the
 * build can write anything to its image.
 */
export class ImageRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The record of an image. Undefined if the name now belongs to an image that was not built here. */
  async find(name: string, id: string): Promise<ImageRecord | undefined> {
    const text = await readFile(this.#pathOf(name), 'utf8').catch(() => '');
    const record = StoredRecord.safeParse(text === '' ? undefined : parsed(text)).data;
    if (record?.id !== id) return undefined;
    return { id, contents: readContents(record.contents) };
  }

  async save(name: string, record: ImageRecord): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = this.#pathOf(name);
    const written = `${path}.${randomUUID()}`;
    await writeFile(written, JSON.stringify(record), { mode: 0o600 });
    await rename(written, path);
  }

  #pathOf(name: string): string {
    return join(this.#folder, `${createHash('sha256').update(name).digest('hex')}.json`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // an interrupted write, so the image is built again
  }
}
