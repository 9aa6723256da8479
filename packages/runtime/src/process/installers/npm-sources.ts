import { type ThvError, unsupported } from '@toolhive/contract/failure';
import npa from 'npm-package-arg';
import * as z from 'zod';
import { readPackageJson } from './package-files.ts';
import type { InstallContext } from './tool.ts';

const Dependencies = z.record(z.string(), z.string()).optional().catch(undefined);

const Entry = z.looseObject({
  link: z.boolean().optional().catch(undefined),
  dependencies: Dependencies,
  optionalDependencies: Dependencies,
  peerDependencies: Dependencies,
});
type Entry = z.infer<typeof Entry>;

/** npm's record of everything that it installed. */
const Lockfile = z.object({ packages: z.record(z.string(), Entry) });

/** Types of dependencies that do not come from a registry. */
const elsewhere: ReadonlySet<string> = new Set(['git', 'remote', 'file', 'directory']);

/**
 * Refuses an installed package with a dependency from outside the registries, unless the user has allowed that
 * source. None of its code has run yet.
 */
export async function refuseOtherSources(
  name: string,
  { folder, allowed }: Pick<InstallContext, 'folder' | 'allowed'>,
): Promise<void> {
  const lockfile = Lockfile.safeParse(await readPackageJson(folder, 'node_modules/.package-lock.json'));
  if (!lockfile.success) throw unsupported(`npm installed ${name} without recording its content`);
  for (const [path, entry] of Object.entries(lockfile.data.packages)) {
    if (entry.link === true) throw otherSource(name, `${path} is a link`);
    refuseIn(name, entry, allowed);
  }
}

/** The same for the dependencies that a manifest names, before they are installed. Returns whether there are some. */
export function refuseOtherSourcesIn(
  name: string,
  manifest: unknown,
  { allowed }: Pick<InstallContext, 'allowed'>,
): boolean {
  const entry = Entry.safeParse(manifest);
  return entry.success && refuseIn(name, entry.data, allowed) > 0;
}

/** Returns how many dependencies there are. */
function refuseIn(name: string, entry: Entry, allowed: readonly string[]): number {
  const lists = [entry.dependencies, entry.optionalDependencies, entry.peerDependencies];
  const all = lists.flatMap((list) => Object.entries(list ?? {}));
  for (const [dependency, wanted] of all) {
    const source = sourceOf(dependency, wanted);
    if (source !== undefined && !allowed.some((one) => isIn(source, one))) {
      throw otherSource(
        name,
        `${dependency} comes from ${wanted}`,
        isLocal.test(wanted) ? missingHint : hintFor(source, allowed),
      );
    }
  }
  return all.length;
}

export function otherSource(name: string, reason: string, hint = hintFor('HOST/PATH', [])): ThvError {
  return unsupported(`package ${name} does not come entirely from a package registry: ${reason}`, { hint });
}

/** How a source is allowed, beside those that are. All releases of a repository count as one source. */
function hintFor(source: string, allowed: readonly string[]): string {
  const repository = /^(?:github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)\/[^/]+\/[^/]+/.exec(
    source,
  )?.[0];
  const sources = [...allowed, repository ?? source].join(',');
  return `if you trust that source, allow it with thv config set-package-sources ${quoted(sources)}`;
}

/** A path on the author's machine, which no user can allow. */
const isLocal = /^(?:file:|link:|\.{0,2}\/|~\/)/;
const missingHint = 'ask the author of the package to publish that dependency, too';

/** A word for a shell, which can be pasted whatever a package names. */
const quoted = (word: string): string =>
  /^[\w./,:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** Where a dependency comes from, as `HOST/PATH`, if that is not a registry. */
function sourceOf(dependency: string, wanted: string): string | undefined {
  try {
    const spec = npa.resolve(dependency, wanted);
    const { type, hosted, fetchSpec, saveSpec } = spec.type === 'alias' ? spec.subSpec : spec;
    if (!elsewhere.has(type)) return undefined;
    if (hosted !== undefined) return `${hosted.domain}/${hosted.user}/${hosted.project}`;
    const url = fetchSpec ?? saveSpec ?? wanted;
    return url.replace(/^(?:git\+)?[a-z]+:\/\/(?:[^/@]*@)?/i, '').replace(/(?:\.git)?(?:#.*)?$/, '');
  } catch {
    return wanted; // npm could not have parsed it either
  }
}

const isIn = (source: string, allowed: string) => source === allowed || source.startsWith(`${allowed}/`);
