import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '@toolhive/contract/failure';
import type { Provenance } from '@toolhive/contract/provenance';
import type { RegistryServer } from '@toolhive/contract/registry';
import * as z from 'zod';
import { isSameRepository } from './build-claims.ts';
import { failed } from './lookup.ts';
import type { LookupCall } from './lookup.ts';
import { OciRepository } from './oci-registry.ts';
import type { PinnedImage } from './oci-registry.ts';
import { verifySignature, verifyStatement } from './signed-bundle.ts';
import type { BuildIdentity, Statement } from './signed-bundle.ts';

/** A registry entry's requirements for the image signature. */
export type ImagePolicy = NonNullable<RegistryServer['provenance']>;

/** One verified image signature, or the reason why it could not be verified. */
type Verified = { identity: BuildIdentity; statement?: Statement } | { problem: string };

const MAX_SIGNATURES = 10;

/**
 * Looks for an image's signatures, first among its referrers, then at cosign's tag. One of them must be valid and
 * match the registry entry. Throws a `ThvError` if the container registry does not answer.
 */
export async function imageProvenance(
  image: PinnedImage,
  policy: ImagePolicy,
  { readRoot, ...request }: LookupCall,
): Promise<Provenance> {
  const repository = new OciRepository(image, request);
  const found = [
    ...(await referredBundles(repository, image)),
    ...(await taggedSignatures(repository, image)),
  ];
  if (found.length === 0) return { status: 'absent', reason: 'the image has no signature' };
  const root = await readRoot();
  let problem = '';
  for (const verify of found) {
    try {
      const verified = verify(root);
      const mismatch = 'problem' in verified ? verified.problem : mismatchOf(verified, policy);
      if (mismatch === undefined && 'identity' in verified) return provenanceOf(verified.identity);
      problem = mismatch ?? problem;
    } catch (error) {
      problem = messageOf(error);
    }
  }
  return failed(problem);
}

type Verify = (root: Parameters<typeof verifyStatement>[1]) => Verified;

const Index = z.object({
  manifests: z.array(z.looseObject({ digest: z.string(), artifactType: z.string().optional() })),
});
const Manifest = z.object({
  layers: z.array(
    z.looseObject({
      mediaType: z.string().default(''),
      digest: z.string(),
      annotations: z.record(z.string(), z.string()).nullish(),
    }),
  ),
});

const BUNDLE = 'application/vnd.dev.sigstore.bundle';

/** Sigstore bundles that refer to the image. */
async function referredBundles(repository: OciRepository, { digest }: PinnedImage): Promise<Verify[]> {
  const index = Index.safeParse(await repository.json(`referrers/${digest}`));
  const bundles = (index.data?.manifests ?? []).filter(({ artifactType = '' }) =>
    artifactType.startsWith(BUNDLE),
  );
  const found: Verify[] = [];
  for (const { digest: manifestDigest } of bundles.slice(0, MAX_SIGNATURES)) {
    const manifest = Manifest.safeParse(await repository.json(`manifests/${manifestDigest}`));
    const layer = manifest.data?.layers.find(({ mediaType }) => mediaType.startsWith(BUNDLE));
    if (layer === undefined) continue;
    const text = await repository.blob(layer.digest);
    found.push((root) => {
      const verified = verifyStatement(JSON.parse(text), root);
      const isOfImage = verified.statement.subject.some((one) => `sha256:${one.digest['sha256']}` === digest);
      return isOfImage ? verified : { problem: 'its statement is about another image' };
    });
  }
  return found;
}

const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json';

/** What cosign signs. */
const SignedImage = z.object({
  critical: z.object({
    image: z.object({ 'docker-manifest-digest': z.string() }),
    type: z.literal('cosign container image signature'),
  }),
});

/** Signatures at the tag that cosign derives from the digest. */
async function taggedSignatures(repository: OciRepository, { digest }: PinnedImage): Promise<Verify[]> {
  const manifest = Manifest.safeParse(await repository.json(`manifests/${digest.replace(':', '-')}.sig`));
  const layers = (manifest.data?.layers ?? []).filter(({ mediaType }) => mediaType === SIMPLE_SIGNING);
  const found: Verify[] = [];
  for (const { digest: payloadDigest, annotations } of layers.slice(0, MAX_SIGNATURES)) {
    const payload = Buffer.from(await repository.blob(payloadDigest));
    found.push((root) => {
      const identity = verifySignature(bundleOf(payload, annotations ?? {}), payload, root);
      const signed = SignedImage.safeParse(JSON.parse(payload.toString()));
      return signed.data?.critical.image['docker-manifest-digest'] === digest
        ? { identity }
        : { problem: 'the signature is of another image' };
    });
  }
  return found;
}

const LogEntry = z.object({
  SignedEntryTimestamp: z.string(),
  Payload: z.object({
    body: z.string(),
    integratedTime: z.int(),
    logIndex: z.int(),
    logID: z.string().regex(/^[0-9a-f]+$/),
  }),
});

const LogBody = z.object({ kind: z.string(), apiVersion: z.string() });

/** The annotations of cosign as a Sigstore bundle. */
function bundleOf(payload: Buffer, annotations: Record<string, string>): unknown {
  const { SignedEntryTimestamp, Payload } = LogEntry.parse(
    JSON.parse(annotations['dev.sigstore.cosign/bundle'] ?? 'null'),
  );
  const certificate = annotations['dev.sigstore.cosign/certificate'] ?? '';
  const body = LogBody.parse(JSON.parse(Buffer.from(Payload.body, 'base64').toString()));
  return {
    mediaType: `${BUNDLE}+json;version=0.1`,
    verificationMaterial: {
      x509CertificateChain: {
        certificates: [{ rawBytes: certificate.replaceAll(/-----[^-]+-----|\s/g, '') }],
      },
      tlogEntries: [
        {
          logIndex: String(Payload.logIndex),
          logId: { keyId: Buffer.from(Payload.logID, 'hex').toString('base64') },
          kindVersion: { kind: body.kind, version: body.apiVersion },
          integratedTime: String(Payload.integratedTime),
          inclusionPromise: { signedEntryTimestamp: SignedEntryTimestamp },
          canonicalizedBody: Payload.body,
        },
      ],
    },
    messageSignature: {
      messageDigest: {
        algorithm: 'SHA2_256',
        digest: createHash('sha256').update(payload).digest('base64'),
      },
      signature: annotations['dev.cosignproject.cosign/signature'] ?? '',
    },
  };
}

/** The difference between a signature and the registry entry. */
function mismatchOf(
  { identity, statement }: { identity: BuildIdentity; statement?: Statement },
  policy: ImagePolicy,
): string | undefined {
  const { repository_uri: repository, attestation } = policy;
  if (repository !== undefined && !isSameRepository(identity.repository ?? '', repository)) {
    return `built from ${identity.repository ?? 'no repository'}, not from ${repository}`;
  }
  const others = [
    ['branch or tag', policy.repository_ref, identity.ref],
    ['runner', policy.runner_environment, identity.runner],
    ['issuer', policy.cert_issuer, identity.issuer],
    ['signer', policy.signer_identity, signerOf(identity, policy.signer_identity)],
  ] as const;
  for (const [what, expected, found] of others) {
    if (expected !== undefined && expected !== '' && expected !== found) {
      return `the ${what} of its signature is ${found ?? 'not certified'}, not ${expected}`;
    }
  }
  if (attestation?.predicate_type !== undefined && statement?.predicateType !== attestation.predicate_type) {
    return `the image has no statement of the type ${attestation.predicate_type}`;
  }
  if (
    attestation?.predicate !== undefined &&
    !isDeepStrictEqual(statement?.['predicate'], attestation.predicate)
  ) {
    return 'its statement differs from the one in the registry entry';
  }
  return undefined;
}

/** Entries name a workflow of GitHub by its path in the repository, without a branch or tag. */
function signerOf({ signer, repository }: BuildIdentity, expected: string | undefined): string {
  if (!expected?.startsWith('/') || repository === undefined || !signer.startsWith(`${repository}/`))
    return signer;
  return signer.slice(repository.length).replace(/@.*$/, '');
}

function provenanceOf({ issuer, signer, repository, commit, workflow }: BuildIdentity): Provenance {
  return {
    status: 'verified',
    ...(repository === undefined ? {} : { repository }),
    ...(workflow === undefined ? {} : { workflow: workflow.replace(`${repository}/`, '') }),
    ...(commit === undefined ? {} : { commit }),
    issuer,
    signer,
  };
}
