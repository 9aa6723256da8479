import { messageOf } from '@toolhive/contract/failure';
import type { Provenance } from '@toolhive/contract/provenance';
import type { Artifact } from '@toolhive/runtime/runtime';
import * as z from 'zod';
import { provenPublication } from './build-claims.ts';
import { failed } from './lookup.ts';
import type { ProvenanceLookup } from './lookup.ts';
import { fetchFromRegistry } from './registry-json.ts';
import { verifyStatement } from './signed-bundle.ts';
import type { Statement } from './signed-bundle.ts';

/** The used parts of an index response (PEP 740). */
const PublishedProvenance = z.object({
  attestation_bundles: z
    .array(
      z.looseObject({
        attestations: z
          .array(
            z.looseObject({
              verification_material: z.looseObject({
                certificate: z.string(),
                transparency_entries: z.array(z.unknown()).max(10),
              }),
              envelope: z.looseObject({ statement: z.string(), signature: z.string() }),
            }),
          )
          .max(20),
      }),
    )
    .max(10),
});

const predicateTypes: ReadonlySet<string> = new Set([
  'https://docs.pypi.org/attestations/publish/v1',
  'https://slsa.dev/provenance/v1',
]);

/** Looks up and verifies the attestations that a Python index has of a wheel. */
export const pypiProvenance: ProvenanceLookup = async ({ registry, artifact }, { readRoot, ...request }) => {
  const { name, version, file = '' } = artifact;
  const path = ['integrity', name, version, file, 'provenance'].map(encodeURIComponent).join('/');
  const accept = 'application/vnd.pypi.integrity.v1+json, application/json';
  const found = await fetchFromRegistry(new URL(`/${path}`, registry), { ...request, accept });
  const none: Provenance = {
    status: 'absent',
    reason: 'the package index has no attestation of this version',
  };
  if (found === undefined) return none;
  const parsed = PublishedProvenance.safeParse(found);
  if (!parsed.success) return failed('the package index answered with malformed attestations');
  const all = parsed.data.attestation_bundles.flatMap(({ attestations }) => attestations);
  if (all.length === 0) return none;
  const root = await readRoot();
  let proven: Provenance = none;
  for (const { verification_material: material, envelope } of all) {
    try {
      const bundle = {
        mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
        verificationMaterial: {
          certificate: { rawBytes: material.certificate },
          tlogEntries: material.transparency_entries,
        },
        dsseEnvelope: {
          payload: envelope.statement,
          payloadType: 'application/vnd.in-toto+json',
          signatures: [{ sig: envelope.signature, keyid: '' }],
        },
      };
      const { identity, statement } = verifyStatement(bundle, root);
      requireSubject(statement, artifact);
      proven = provenPublication(identity);
    } catch (error) {
      return failed(messageOf(error));
    }
  }
  return proven;
};

/** Throws unless the statement is about exactly this wheel. */
function requireSubject({ subject, predicateType }: Statement, { file, integrity }: Artifact): void {
  if (!predicateTypes.has(predicateType))
    throw new Error(`its statement is of the unknown type ${predicateType}`);
  const named = subject.find(({ name }) => name === file);
  if (named === undefined) throw new Error(`its statement is about ${subject[0]?.name}, not about ${file}`);
  if (`sha256:${named.digest['sha256']}` !== integrity) {
    throw new Error('its statement is about another content of this file');
  }
}
