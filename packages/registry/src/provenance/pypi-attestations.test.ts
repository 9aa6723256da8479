import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveRoutes } from '@toolhive/remote/testing/authorization-server';
import type { Route } from '@toolhive/remote/testing/authorization-server';
import { openTestSigstore } from '../testing/sigstore.ts';
import type { BuildClaims, TestSigstore } from '../testing/sigstore.ts';
import { pypiProvenance } from './pypi-attestations.ts';

const sha256 = createHash('sha256').update('the wheel').digest('hex');
const file = 'example_server-1.0.0-py3-none-any.whl';
const artifact = { name: 'example-server', version: '1.0.0', integrity: `sha256:${sha256}`, file };

let sigstore: TestSigstore;
beforeAll(async () => void (sigstore = await openTestSigstore()));
afterAll(() => sigstore[Symbol.asyncDispose]());

interface Changes {
  name?: string;
  digest?: string;
  type?: string;
  claims?: Partial<BuildClaims>;
}

/** What an index answers with that has one attestation. */
async function published({ name = file, digest = sha256, type, claims }: Changes = {}) {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name, digest: { sha256: digest } }],
    predicateType: type ?? 'https://docs.pypi.org/attestations/publish/v1',
    predicate: null,
  };
  const bundle = (await sigstore.attest(statement, claims)) as {
    verificationMaterial: { certificate: { rawBytes: string }; tlogEntries: unknown[] };
    dsseEnvelope: { payload: string; signatures: [{ sig: string }] };
  }; // as the test signer makes it
  const { certificate, tlogEntries } = bundle.verificationMaterial;
  const attestation = {
    version: 1,
    verification_material: { certificate: certificate.rawBytes, transparency_entries: tlogEntries },
    envelope: { statement: bundle.dsseEnvelope.payload, signature: bundle.dsseEnvelope.signatures[0].sig },
  };
  return { version: 1, attestation_bundles: [{ publisher: {}, attestations: [attestation] }] };
}

async function lookUp(answer: unknown) {
  const path = `GET /integrity/example-server/1.0.0/${file}/provenance`;
  const routes: Record<string, Route> =
    answer === undefined ? {} : { [path]: ({ reply }) => reply(200, answer) };
  await using index = await serveRoutes(() => routes);
  const readRoot = async () => sigstore.root;
  const signal = new AbortController().signal;
  return await pypiProvenance({ registry: `${index.origin}/simple`, artifact }, { readRoot, signal });
}

test('an attestation of the wheel proves the repository that published it', async () => {
  expect(await lookUp(await published())).toMatchObject({
    status: 'verified',
    repository: 'https://github.com/example/server',
  });
});

test('a wheel without attestations has no provenance', async () => {
  expect(await lookUp(undefined)).toMatchObject({ status: 'absent' });
});

test('a publisher without a repository proves nothing, and is not refused', async () => {
  const found = await lookUp(await published({ claims: { iss: 'https://accounts.google.com' } }));

  expect(found).toMatchObject({
    status: 'absent',
    reason: expect.stringContaining('certifies no repository'),
  });
});

test.each([
  ['of another file', { name: 'other-1.0.0-py3-none-any.whl' }, 'is about other-1.0.0'],
  [
    'replayed from another version',
    { name: 'example_server-0.9.0-py3-none-any.whl' },
    'not about example_server-1.0.0',
  ],
  ['of another content', { digest: '00'.repeat(32) }, 'about another content of this file'],
  ['of an unknown type', { type: 'https://example.com' }, 'of the unknown type'],
])('an attestation %s is refused', async (_name, changes, reason) => {
  expect(await lookUp(await published(changes))).toEqual({
    status: 'failed',
    reason: expect.stringContaining(reason),
  });
});

test('an attestation whose signature belongs to another statement is refused', async () => {
  const [one, other] = [await published(), await published({ name: 'other' })];
  const attestation = one.attestation_bundles[0]?.attestations[0];
  const envelope = other.attestation_bundles[0]?.attestations[0]?.envelope;
  if (attestation && envelope) attestation.envelope.signature = envelope.signature;

  expect(await lookUp(one)).toMatchObject({ status: 'failed' });
});
