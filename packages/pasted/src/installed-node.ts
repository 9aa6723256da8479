import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import * as z from 'zod';
import type { Owner, Program } from './installed-owner.ts';
import { Contents, refuseUnpublished } from './installed-owner.ts';
import { packageImage } from './package-spec.ts';

const Manifest = z.object({
  name: z.string().regex(/^(?:@[\w.~-]+\/)?[\w.~-]+$/),
  version: z
    .string()
    .regex(/^\d+\.\d+\.\d+[\w.+-]*$/)
    .optional()
    .catch(undefined),
  private: z.boolean().optional().catch(undefined),
  bin: z
    .union([z.string(), z.record(z.string(), z.string())])
    .optional()
    .catch(undefined),
});
type Manifest = z.infer<typeof Manifest>;

/** Finds the npm package whose program npm, pnpm, yarn, or bun has installed, or linked from a directory. */
export function nodeProgram({ path, real, beginning }: Program): Owner | undefined {
  const file = targetOf(path, beginning) ?? real;
  return file === path ? undefined : ownerOf(file, path); // an installed program is a link or a script
}

/** Finds the npm package with a script in `node_modules` that is one of its programs. */
export function packagedScript(path: string): Owner | undefined {
  const real = existsSync(path) ? realpathSync(path) : path;
  return installedIn.test(real) ? ownerOf(real, path) : undefined;
}

const installedIn = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//s;

function ownerOf(file: string, path: string): Owner | undefined {
  const [, folder] = installedIn.exec(file) ?? [];
  const place = folder ?? folderWithManifest(file);
  const manifest = place === undefined ? undefined : manifestOf(place);
  if (place === undefined || manifest === undefined) return undefined;
  const { name, version, bin } = manifest;
  const programs = typeof bin === 'string' ? {} : (bin ?? {});
  const program = Object.keys(programs).find((each) => resolve(place, programs[each] ?? '') === file);
  if (typeof bin === 'string' ? resolve(place, bin) !== file : program === undefined) return undefined;
  const chosen = Object.keys(programs).length > 1 ? program : undefined;
  if (folder === undefined) {
    const fragment = chosen === undefined ? '' : `#program=${chosen}`;
    return { image: `npx://${place}${fragment}`, text: place };
  }
  if (version === undefined || manifest.private === true)
    refuseUnpublished(path, name, 'run its directory instead: thv run DIRECTORY');
  return { image: packageImage('npx', `${name}@${version}`, chosen), text: `${name} ${version}` };
}

/** pnpm writes shell scripts instead of links. */
function targetOf(path: string, beginning: string): string | undefined {
  const [, target] = /^#!\/bin\/sh\n[^]*?"\$basedir\/([^"$\n]+\.[cm]?js)"/.exec(beginning) ?? [];
  const file = target === undefined ? undefined : resolve(dirname(path), target);
  return file !== undefined && existsSync(file) ? realpathSync(file) : undefined;
}

/** Finds the package directory around a file. */
function folderWithManifest(file: string): string | undefined {
  const above = dirname(file);
  if (above === file) return undefined;
  return existsSync(join(above, 'package.json')) ? above : folderWithManifest(above);
}

function manifestOf(folder: string): Manifest | undefined {
  try {
    return Manifest.parse(JSON.parse(new Contents().of(folder, 'package.json')));
  } catch {
    return undefined; // no package
  }
}
