import type { Provenance } from '@toolhive/contract/provenance';
import type { Artifact } from '@toolhive/runtime/runtime';
import type { RegistryRequest } from './registry-json.ts';
import type { ReadTrustedRoot } from './trusted-root.ts';

export interface LookupCall extends RegistryRequest {
  readRoot: ReadTrustedRoot;
}

/** A downloaded package, and its package registry. */
interface Downloaded {
  registry: string;
  artifact: Artifact;
}

/** Looks up where a package was built. Throws a `ThvError` if the registry cannot be asked. */
export type ProvenanceLookup = (downloaded: Downloaded, call: LookupCall) => Promise<Provenance>;

const LONGEST_REASON = 300;

/** Provenance that must not be trusted. The reason may contain text of others. */
export function failed(reason: string): Provenance {
  return { status: 'failed', reason: reason.replaceAll(/\s+/g, ' ').slice(0, LONGEST_REASON) };
}
