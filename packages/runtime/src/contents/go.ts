import type { Artifact, PackageContents } from '../runtime.ts';

/** The modules that `go version -m` lists: the main module first, then its dependencies. */
export function goModulesIn(stdout: string): Artifact[] {
  const lines = [...stdout.matchAll(/^\t(mod|dep|=>)\t(\S+)\t(\S+)(?:\t(\S+))?/gm)];
  const own = lines.filter(([, kind]) => kind === 'mod');
  return [...own, ...lines.filter(([, kind]) => kind !== 'mod')].map(
    ([, , name = '', version = '', integrity = '']) => ({ name, version, integrity }),
  );
}

/** The modules with the hashes that go compared with the checksum database, unless that is turned off. */
export function goContents(
  name: string,
  [own, ...dependencies]: readonly Artifact[],
  time: unknown,
): PackageContents | undefined {
  if (own === undefined || own.integrity === '') return undefined;
  const at = typeof time === 'string' ? Date.parse(time) : NaN;
  return {
    registry: '',
    publishedAt: Number.isNaN(at) ? undefined : new Date(at).toISOString(),
    artifacts: [{ ...own, name }, ...dependencies.filter(({ integrity }) => integrity !== '')],
  };
}
