import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveRoutes } from '@toolhive/remote/testing/authorization-server';
import type { Route } from '@toolhive/remote/testing/authorization-server';
import { openTestSigstore } from '../testing/sigstore.ts';
import type { TestSigstore } from '../testing/sigstore.ts';
import { npmProvenance } from './npm-attestations.ts';

const content = createHash('sha512').update('the tarball');
const digest = content.copy().digest('hex');
const artifact = {
  name: '@example/server',
  version: '1.0.0',
  integrity: `sha512-${content.digest('base64')}`,
};
const slsa = 'https://slsa.dev/provenance/v1';

let sigstore: TestSigstore;
beforeAll(async () => void (sigstore = await openTestSigstore()));
afterAll(() => sigstore[Symbol.asyncDispose]());

/** A statement about the package, unless something else is said. */
const aStatement = ({ name = 'pkg:npm/%40example/server@1.0.0', sha512 = digest, type = slsa } = {}) => ({
  _type: 'https://in-toto.io/Statement/v1',
  subject: [{ name, digest: { sha512 } }],
  predicateType: type,
  predicate: {},
});

const attestations = (...bundles: unknown[]) => ({
  attestations: bundles.map((bundle) => ({ predicateType: slsa, bundle })),
});

const PATH = 'GET /-/npm/v1/attestations/@example%2fserver@1.0.0';

/** Looks up the package in a registry that answers like this. */
async function lookUp(answer: Route, root = sigstore.root) {
  const registry = await serveRoutes(() => ({ [PATH]: answer }));
  try {
    const readRoot = async () => root;
    const signal = new AbortController().signal;
    return await npmProvenance({ registry: `${registry.origin}/`, artifact }, { readRoot, signal });
  } finally {
    await registry[Symbol.asyncDispose]();
  }
}

const answering =
  (body: unknown, status = 200): Route =>
  ({ reply }) =>
    reply(status, body);

test('attestations are fetched through the corporate proxy that package managers use', async () => {
  const body = JSON.stringify(attestations(await sigstore.attest(aStatement())));
  const asked: string[] = [];
  // A proxy receives the complete URL of a plain http request. No other program could resolve this name.
  const proxy = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.end(body);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.address() as AddressInfo; // it listens on TCP

  const call = {
    readRoot: async () => sigstore.root,
    signal: new AbortController().signal,
    env: { HTTP_PROXY: `http://127.0.0.1:${port}` },
  };
  const found = await npmProvenance({ registry: 'http://registry.invalid/', artifact }, call);
  const exempt = npmProvenance(
    { registry: 'http://registry.invalid/', artifact },
    { ...call, env: { ...call.env, NO_PROXY: '.invalid' } },
  );

  await expect(exempt).rejects.toMatchObject({ kind: 'unavailable' });
  proxy.close();
  expect(found.status).toBe('verified');
  expect(asked).toEqual(['http://registry.invalid/-/npm/v1/attestations/@example%2fserver@1.0.0']);
});

test('a valid attestation proves the repository, the workflow, and the commit', async () => {
  const found = await lookUp(answering(attestations(await sigstore.attest(aStatement()))));

  expect(found).toEqual({
    status: 'verified',
    repository: 'https://github.com/example/server',
    workflow: '.github/workflows/release.yml@refs/tags/v1.0.0',
    commit: '3f786850e387550fdab836ed7e6dc881de23001b',
    issuer: 'https://token.actions.githubusercontent.com',
    signer: 'https://github.com/example/server/.github/workflows/release.yml@refs/tags/v1.0.0',
  });
});

test('a version without attestations, or with other ones alone, has no provenance', async () => {
  const publish = {
    attestations: [{ predicateType: 'https://github.com/npm/attestation/v0.1', bundle: {} }],
  };

  const [missing, other] = [await lookUp(answering({}, 404)), await lookUp(answering(publish))];

  expect([missing.status, other.status]).toEqual(['absent', 'absent']);
});

test.each([
  ['of another package', { name: 'pkg:npm/other@1.0.0' }, 'is about pkg:npm/other@1.0.0, not about'],
  [
    'of a package with the same name in another scope',
    { name: 'pkg:npm/server@1.0.0' },
    'not about pkg:npm/@example/server@1.0.0',
  ],
  [
    'replayed from an earlier version',
    { name: 'pkg:npm/%40example/server@0.9.0' },
    'server@0.9.0, not about',
  ],
  ['of another content of the version', { sha512: '00'.repeat(64) }, 'is about another content'],
  ['of another kind than the registry says', { type: 'https://example.com/v1' }, 'is not provenance'],
])('an attestation %s is refused', async (_name, change, reason) => {
  const found = await lookUp(answering(attestations(await sigstore.attest(aStatement(change)))));

  expect(found).toEqual({ status: 'failed', reason: expect.stringContaining(reason) });
});

test('a replayed bundle beside a valid one is refused', async () => {
  const [valid, replayed] = [
    await sigstore.attest(aStatement()),
    await sigstore.attest(aStatement({ name: 'pkg:npm/%40example/server@0.9.0' })),
  ];

  expect(await lookUp(answering(attestations(valid, replayed)))).toMatchObject({ status: 'failed' });
});

test('an attestation of another certificate authority is refused', async () => {
  await using other = await openTestSigstore();

  const found = await lookUp(answering(attestations(await other.attest(aStatement()))));

  expect(found.status).toBe('failed');
});

test.each([
  [
    'an unknown issuer',
    { iss: 'https://issuer.example' },
    'https://issuer.example is not a known build service',
  ],
  [
    'an issuer that only begins like a known one',
    { iss: 'https://token.actions.githubusercontent.com.evil.example' },
    'is not a known build service',
  ],
  ['a self-hosted machine', { runner_environment: 'self-hosted' }, 'a machine of the kind self-hosted'],
])('an attestation of %s is refused', async (_name, claims, reason) => {
  const found = await lookUp(answering(attestations(await sigstore.attest(aStatement(), claims))));

  expect(found).toEqual({ status: 'failed', reason: expect.stringContaining(reason) });
});

test('a statement that was changed after it was signed is refused', async () => {
  const signed = await sigstore.attest(aStatement({ name: 'pkg:npm/other@1.0.0' }));
  const bundle = structuredClone(signed) as { dsseEnvelope: { payload: string } }; // as the test signer made it
  bundle.dsseEnvelope.payload = Buffer.from(JSON.stringify(aStatement())).toString('base64');

  expect(await lookUp(answering(attestations(bundle)))).toMatchObject({ status: 'failed' });
});

test.each([
  ['nothing', null],
  ['a text', 'bundle'],
  ['an empty object', {}],
  ['an incomplete bundle', { mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json' }],
])('%s instead of a bundle is refused', async (_name, bundle) => {
  expect(await lookUp(answering(attestations(bundle)))).toMatchObject({ status: 'failed' });
});

test.each<[string, Route, string]>([
  ['HTML', answering('<!doctype html><title>Sign in</title>'), 'is not JSON'],
  ['a failure', answering({}, 500), 'returned status 500'],
  ['far too much', answering('x'.repeat(2 * 1024 * 1024)), 'is larger than 1048576 bytes'],
  ['a deeply nested text', answering('['.repeat(10_000)), 'nests deeper than 64 levels'],
  [
    'a redirect to a private address',
    ({ reply }) => reply(302, '', { location: 'https://169.254.169.254/latest' }),
    '169.254.169.254',
  ],
  [
    'a redirect to another port of this machine',
    ({ reply }) => reply(302, '', { location: 'http://127.0.0.1:9/' }),
    'is not https',
  ],
])('a registry that answers with %s proves nothing', async (_name, answer, reason) => {
  await expect(lookUp(answer)).rejects.toThrow(reason);
});

test('the reason of a failure is one short line', async () => {
  const name = `pkg:npm/${'x\n'.repeat(5000)}`;

  const { reason = '' } = await lookUp(answering(attestations(await sigstore.attest(aStatement({ name })))));

  expect(reason.length).toBeLessThanOrEqual(300);
  expect(reason).not.toContain('\n');
});
