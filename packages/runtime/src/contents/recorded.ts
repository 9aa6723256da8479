import * as z from 'zod';
import type { PackageContents } from '../runtime.ts';

const Artifact = z.object({
  name: z.string(),
  version: z.string(),
  integrity: z.string(),
  file: z.string().optional(),
});

const Contents = z.object({
  registry: z.string(),
  publishedAt: z.string().optional(),
  artifacts: z.tuple([Artifact], Artifact),
});

/** Recorded contents of a package. Undefined for anything that this version would not have written. */
export const readContents = (value: unknown): PackageContents | undefined => Contents.safeParse(value).data;

/** The contents that an installation records: all but the archives that only an inspection compares. */
export function recorded(contents: PackageContents | undefined): PackageContents | undefined {
  if (contents === undefined) return undefined;
  const { published: _published, ...rest } = contents;
  return rest;
}
