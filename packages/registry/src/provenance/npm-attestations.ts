import type { Provenance } from '@toolhive/contract/provenance';
import type { Artifact } from '@toolhive/runtime/runtime';
import { messageOf } from '@toolhive/contract/failure';
import * as z from 'zod';
import { provenBuild } from './build-claims.ts';
import { failed } from './lookup.ts';
import type { ProvenanceLookup } from './lookup.ts';
import { fetchFromRegistry } from './registry-json.ts';
import { verifyStatement } from './signed-bundle.ts';
import type { Statement } from './signed-bundle.ts';

const Attestations = z.object({
  attestations: z.array(z.looseObject({ predicateType: z.string(), bundle: z.unknown() })).max(20),
});

const PROVENANCE = /^https:\/\/slsa\.dev\/provenance\/v/;

/** Looks up and verifies the attestations that the npm registry has of a version. */
export const npmProvenance: ProvenanceLookup = async ({ registry, artifact }, { readRoot, ...request }) => {
  const { name, version } = artifact;
  const base = registry.endsWith('/') ? registry : `${registry}/`;
  const path = `-/npm/v1/attestations/${name.replace('/', '%2f')}@${encodeURIComponent(version)}`;
  const found = await fetchFromRegistry(new URL(path, base), request);
  const none: Provenance = {
    status: 'absent',
    reason: 'the package registry has no provenance of this version',
  };
  if (found === undefined) return none;
  const parsed = Attestations.safeParse(found);
  if (!parsed.success) return failed('the package registry answered with malformed attestations');
  const bundles = parsed.data.attestations.filter(({ predicateType }) => PROVENANCE.test(predicateType));
  if (bundles.length === 0) return none;
  const root = await readRoot();
  let proven: Provenance = none;
  // All of them, because a wrong attestation is always suspicious.
  for (const { bundle } of bundles) {
    try {
      const { identity, statement } = verifyStatement(bundle, root);
      requireSubject(statement, artifact);
      proven = provenBuild(identity);
    } catch (error) {
      return failed(messageOf(error));
    }
  }
  return proven;
};

/** Throws unless the statement is about exactly this content of this version. */
function requireSubject({ subject, predicateType }: Statement, { name, version, integrity }: Artifact): void {
  if (!PROVENANCE.test(predicateType))
    throw new Error(`its statement has the type ${predicateType}, which is not provenance`);
  const [, base64] = /(?:^|\s)sha512-(\S+)/.exec(integrity) ?? [];
  if (base64 === undefined) throw new Error('the package registry has no SHA-512 hash of this version');
  const digest = Buffer.from(base64, 'base64').toString('hex');
  const expected = `pkg:npm/${name}@${version}`;
  const named = subject.filter((one) => decode(one.name) === expected);
  if (named.length === 0)
    throw new Error(`its statement is about ${subject[0]?.name}, not about ${expected}`);
  if (!named.some((one) => one.digest['sha512'] === digest)) {
    throw new Error('its statement is about another content of this version');
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
