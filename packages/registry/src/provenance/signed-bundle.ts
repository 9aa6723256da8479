import { bundleFromJSON } from '@sigstore/bundle';
import type { Bundle } from '@sigstore/bundle';
import type { TrustedRoot } from '@sigstore/protobuf-specs';
import { Verifier, toSignedEntity, toTrustMaterial } from '@sigstore/verify';
import { parseJson } from '@toolhive/contract/json-text';
import * as z from 'zod';

/** The build facts in a signing certificate. The certificate authority received them from the build service. */
export interface BuildIdentity {
  issuer: string;
  /** The subject of the certificate. */
  signer: string;
  repository?: string | undefined;
  commit?: string | undefined;
  ref?: string | undefined;
  workflow?: string | undefined;
  runner?: string | undefined;
}

/** A statement about artifacts in the in-toto format. */
export type Statement = z.infer<typeof Statement>;
const Statement = z.looseObject({
  _type: z.enum(['https://in-toto.io/Statement/v0.1', 'https://in-toto.io/Statement/v1']),
  subject: z
    .array(z.looseObject({ name: z.string().default(''), digest: z.record(z.string(), z.string()) }))
    .min(1)
    .max(1000),
  predicateType: z.string(),
});

const STATEMENT_TYPE = 'application/vnd.in-toto+json';

/**
 * Verifies a Sigstore bundle with a statement: the certificate, its time, both transparency logs, and the signature.
 * Throws if one of them is wrong.
 */
export function verifyStatement(
  value: unknown,
  root: TrustedRoot,
): { identity: BuildIdentity; statement: Statement } {
  const bundle = bundleFromJSON(value);
  const identity = verify(bundle, root);
  if (bundle.content.$case !== 'dsseEnvelope' || bundle.content.dsseEnvelope.payloadType !== STATEMENT_TYPE) {
    throw new Error('the bundle contains no statement');
  }
  const text = bundle.content.dsseEnvelope.payload.toString('utf8');
  const statement = Statement.safeParse(parseJson(text, 'the statement', { maxDepth: 64 }));
  if (!statement.success) throw new Error('the bundle contains a malformed statement');
  return { identity, statement: statement.data };
}

/** Verifies a Sigstore bundle with only a content signature. Throws if the signature is wrong. */
export function verifySignature(value: unknown, content: Buffer, root: TrustedRoot): BuildIdentity {
  const bundle = bundleFromJSON(value);
  if (bundle.content.$case !== 'messageSignature') throw new Error('the bundle contains no signature');
  return verify(bundle, root, content);
}

function verify(bundle: Bundle, root: TrustedRoot, content?: Buffer): BuildIdentity {
  const { identity } = new Verifier(toTrustMaterial(root)).verify(toSignedEntity(bundle, content));
  const issuer = identity?.extensions?.issuer;
  const signer = identity?.subjectAlternativeName;
  if (issuer === undefined || signer === undefined) throw new Error('the certificate names no signer');
  const extension = (number: number): string | undefined => {
    const found = identity?.oids?.find(({ oid }) => oid?.id.join('.') === `${FULCIO}.${number}`);
    return found === undefined ? undefined : derText(found.value);
  };
  return {
    issuer,
    signer,
    runner: extension(11),
    repository: extension(12),
    commit: extension(13),
    ref: extension(14),
    workflow: extension(18),
  };
}

/** The extensions of Sigstore's certificates: https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md */
const FULCIO = '1.3.6.1.4.1.57264.1';

/** The text in a DER-encoded UTF8String. */
function derText(value: Buffer): string | undefined {
  const [tag, first = 0] = value;
  if (tag !== 0x0c) return undefined;
  const sizeBytes = first < 0x80 ? 0 : first & 0x7f;
  return value.subarray(2 + sizeBytes).toString('utf8');
}
