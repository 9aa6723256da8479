import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { readIfThere, writeWhole } from '@toolhive/state/files';
import { readRegistry } from './read.ts';
import type { Fetched } from './fetch-registry.ts';

/** The response from a URL, and when it was last known to be current. */
export interface Copy extends Fetched {
  fetchedAt: string;
}

/** Raised whenever the same document would be read differently, so that "not modified" is not taken for an answer. */
const copyVersion = 1;

const StoredCopy = z.object({
  copyVersion: z.literal(copyVersion),
  place: z.string(),
  fetchedAt: z.iso.datetime(),
  validators: z
    .object({ url: z.string(), etag: z.string().optional(), lastModified: z.string().optional() })
    .optional(),
  problem: z.string().optional(),
  skipped: z.array(z.object({ name: z.string(), why: z.string() })),
  registry: z.unknown(),
});

/** The copy of an address that an earlier daemon or this one has kept. One that cannot be read is as good as none. */
export async function loadCopy(directory: string, place: string): Promise<Copy | undefined> {
  try {
    const text = await readIfThere(pathOf(directory, place));
    if (text === undefined) return undefined;
    const { registry, validators, problem, ...stored } = StoredCopy.parse(JSON.parse(text));
    if (stored.place !== place) return undefined;
    return {
      registry: readRegistry(registry).registry,
      skipped: stored.skipped,
      fetchedAt: stored.fetchedAt,
      ...(validators === undefined ? {} : { validators }),
      ...(problem === undefined ? {} : { problem }),
    };
  } catch {
    return undefined; // the registry is fetched again
  }
}

export async function saveCopy(directory: string, place: string, copy: Copy): Promise<void> {
  await writeWhole(pathOf(directory, place), JSON.stringify({ copyVersion, place, ...copy }));
}

/** Forgets an address that is no longer used. */
export async function dropCopy(directory: string, place: string): Promise<void> {
  await rm(pathOf(directory, place), { force: true });
}

function pathOf(directory: string, place: string): string {
  return join(directory, `${createHash('sha256').update(place).digest('hex').slice(0, 32)}.json`);
}
