import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { conflict, invalid, notFound, unsupported } from '@toolhive/contract/failure';
import { openInner } from './inner-file.ts';
import { type SourcePin, pinSource } from './mount-source.ts';
import type { PackageScheme, PackageSource } from './source.ts';

/** What a local package may be, by the ecosystem. */
interface Shape {
  /** The files of which a directory has one. */
  manifests: readonly string[];
  script: RegExp;
  archive: RegExp;
  /** For error messages. */
  text: string;
}

const never = /(?!)/;
const shapes: Record<PackageScheme, Shape> = {
  npx: {
    manifests: ['package.json'],
    script: /\.[cm]?[jt]s$/,
    archive: /\.(?:tgz|tar\.gz)$/,
    text: 'a directory with a package.json, a script (.js, .mjs, .cjs, .ts), or an archive that npm pack made (.tgz)',
  },
  uvx: {
    manifests: ['pyproject.toml', 'setup.py'],
    script: /\.py$/,
    archive: /\.whl$/,
    text: 'a directory with a pyproject.toml, a script (.py), or a wheel (.whl)',
  },
  go: { manifests: ['go.mod'], script: never, archive: never, text: 'a directory with a go.mod' },
};

/** What the file of a local package is, by its name. Directories may have such names, too. */
export function fileKindOf({
  scheme,
  name,
}: Pick<PackageSource, 'scheme' | 'name'>): 'script' | 'archive' | undefined {
  if (shapes[scheme].script.test(name)) return 'script';
  return shapes[scheme].archive.test(name) ? 'archive' : undefined;
}

/**
 * Resolves a local package's path, and compares the result with the grant. A new inode is fine, because editors
 * replace files when they save. Throws `conflict` for another package, and `not-found` if the path does not exist.
 */
export async function pinLocal(path: string, granted: SourcePin | undefined): Promise<SourcePin> {
  if (!isAbsolute(path))
    throw invalid(`the path ${path} is not absolute`, { hint: 'start the path with a slash' });
  const found = await stat(path).catch(() => undefined);
  if (found === undefined)
    throw notFound(`${path} not found`, { hint: 'check the path, or restore the files' });
  const now = await pinSource(path);
  if (granted === undefined) return now;
  const isSame = now.device === granted.device && now.inode === granted.inode;
  if (now.path === granted.path && (isSame || !found.isDirectory())) return now;
  throw conflict(`${path} is no longer the directory or file that was granted (${granted.path})`, {
    hint: 'if you replaced it, confirm the change with thv restart, or create the workload again',
  });
}

/** Throws `unsupported` for a file of another kind, or a directory without a manifest. `place` is where to look. */
export async function requireLocal(
  { scheme, name }: Pick<PackageSource, 'scheme' | 'name'>,
  place: { file: true } | { directory: string },
): Promise<void> {
  if ('file' in place) {
    if (fileKindOf({ scheme, name }) !== undefined) return;
  } else {
    for (const manifest of shapes[scheme].manifests) {
      await using file = await openInner(place.directory, manifest);
      if (file !== undefined) return;
    }
  }
  throw unsupported(`${name} is not a package for ${scheme}://`, { hint: `name ${shapes[scheme].text}` });
}
