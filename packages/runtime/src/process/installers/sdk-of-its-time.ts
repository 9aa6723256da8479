import { type LockedPackage, normalized } from '../../contents/python.ts';
import type { PackageSource } from '../../source.ts';

/**
 * The Python SDK whose version 2 renamed what servers import, and when version 2.0.0 was published. A server from before
 * was written for version 1, even if it accepts any version.
 */
const sdk = { name: 'mcp', major: 2, publishedAt: Date.parse('2026-07-28T13:45:32Z'), before: 'mcp<2' };

/** The same package with the version of the SDK that it was written for, and whether the resolution has another one. */
export interface SdkOfItsTime {
  source: PackageSource;
  isMissing: boolean;
}

/**
 * Adds the SDK for which a package was written, if the package is older than the newest one. Undefined if the user has
 * chosen a version, or if the package does not use the SDK or was published later.
 */
export function sdkOfItsTime(
  source: PackageSource,
  lock: readonly LockedPackage[],
): SdkOfItsTime | undefined {
  const { options } = source;
  const chosen = options?.with ?? [];
  const isChosen =
    options?.excludeNewer !== undefined || chosen.some((one) => /^(?:mcp|fastmcp)\b(?![-_.])/i.test(one));
  const found = lock.find(({ name }) => normalized(name) === sdk.name);
  const own = lock.find(({ name }) => normalized(name) === normalized(source.name));
  const published = Date.parse(own?.wheels[0]?.publishedAt ?? '');
  if (isChosen || found === undefined || own === found || !(published < sdk.publishedAt)) return undefined;
  return {
    source: { ...source, options: { ...options, with: [...chosen, sdk.before] } },
    isMissing: Number.parseInt(found.version, 10) >= sdk.major,
  };
}
