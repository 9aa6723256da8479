// @suite system
import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { readFile, writeFile } from 'node:fs/promises';
import { openDockerRuntime } from '@toolhive/runtime/docker';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { engineSocket } from '@toolhive/runtime/testing/engines';
import { startRegistry } from '@toolhive/runtime/testing/registry';
import type { TestRegistry } from '@toolhive/runtime/testing/registry';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { serveRoutes } from '@toolhive/remote/testing/authorization-server';
import type { Route } from '@toolhive/remote/testing/authorization-server';
import { openTestSigstore } from '../testing/sigstore.ts';
import type { BuildClaims, TestSigstore } from '../testing/sigstore.ts';
import type { Core } from '@toolhive/core/core';
import { makeHome, openTestCore, quickTiming, testServer } from '@toolhive/core/testing';
import { createWorkload } from '@toolhive/core/create';
import { getWorkload } from '@toolhive/core/describe';
import type { ImageVerification } from '@toolhive/contract/provenance';
import { imageProvenance } from './image-signatures.ts';
import type { ImagePolicy } from './image-signatures.ts';
import { pinnedImage } from './oci-registry.ts';

const hex = createHash('sha256').update('the image').digest('hex');
const digest = `sha256:${hex}`;
const policy: ImagePolicy = {
  repository_uri: 'https://github.com/example/server',
  signer_identity: '/.github/workflows/release.yml',
  runner_environment: 'github-hosted',
  cert_issuer: 'https://token.actions.githubusercontent.com',
};
const claims: Partial<BuildClaims> = {};

let sigstore: TestSigstore;
beforeAll(async () => void (sigstore = await openTestSigstore()));
afterAll(() => sigstore[Symbol.asyncDispose]());

const answer =
  (body: unknown): Route =>
  ({ reply }) =>
    reply(200, body);
const base = '/v2/example/server';
const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;

interface Signed {
  of?: string;
  type?: string;
  by?: Partial<BuildClaims>;
}

const mediaType = 'application/vnd.dev.sigstore.bundle.v0.3+json';

async function bundleFor({ of = hex, type = 'https://slsa.dev/provenance/v1', by = claims }: Signed) {
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ name: 'server', digest: { sha256: of } }],
    predicateType: type,
    predicate: { built: true },
  };
  return JSON.stringify(await sigstore.attest(statement, by));
}

/** A bundle of the new kind, which refers to the image. */
async function referring(signed: Signed = {}) {
  const bundle = await bundleFor(signed);
  const manifest = { digest: 'sha256:manifest', artifactType: mediaType };
  return {
    [`GET ${base}/referrers/${digest}`]: answer({ manifests: [manifest] }),
    [`GET ${base}/manifests/sha256:manifest`]: answer({ layers: [{ mediaType, digest: digestOf(bundle) }] }),
    [`GET ${base}/blobs/${digestOf(bundle)}`]: answer(bundle),
  };
}

/** A signature of the old kind, at the tag that cosign writes. */
async function tagged({ of = digest, by = claims, payload: changed = '' } = {}) {
  const payload = JSON.stringify({
    critical: {
      identity: { 'docker-reference': 'server' },
      image: { 'docker-manifest-digest': of },
      type: 'cosign container image signature',
    },
    optional: null,
  });
  const bundle = (await sigstore.sign(payload, by)) as {
    verificationMaterial: {
      x509CertificateChain: { certificates: [{ rawBytes: string }] };
      tlogEntries: [
        {
          logIndex: string;
          integratedTime: string;
          canonicalizedBody: string;
          logId: { keyId: string };
          inclusionPromise: { signedEntryTimestamp: string };
        },
      ];
    };
    messageSignature: { signature: string };
  }; // as the test signer makes it
  const { x509CertificateChain: chain, tlogEntries } = bundle.verificationMaterial;
  const [entry] = tlogEntries;
  const logged = {
    SignedEntryTimestamp: entry.inclusionPromise.signedEntryTimestamp,
    Payload: {
      body: entry.canonicalizedBody,
      integratedTime: Number(entry.integratedTime),
      logIndex: Number(entry.logIndex),
      logID: Buffer.from(entry.logId.keyId, 'base64').toString('hex'),
    },
  };
  const layer = {
    mediaType: 'application/vnd.dev.cosign.simplesigning.v1+json',
    digest: digestOf(payload),
    annotations: {
      'dev.cosignproject.cosign/signature': bundle.messageSignature.signature,
      'dev.sigstore.cosign/certificate': `-----BEGIN CERTIFICATE-----\n${chain.certificates[0].rawBytes}\n-----END CERTIFICATE-----\n`,
      'dev.sigstore.cosign/bundle': JSON.stringify(logged),
    },
  };
  return {
    [`GET ${base}/manifests/sha256-${hex}.sig`]: answer({ layers: [layer] }),
    [`GET ${base}/blobs/${digestOf(payload)}`]: answer(changed || payload),
  };
}

async function serve(routes: Record<string, Route>) {
  const registry = await serveRoutes(() => routes);
  onTestFinished(() => registry[Symbol.asyncDispose]());
  return registry.origin.replace('http://', '');
}

async function verify(routes: Record<string, Route>, expected: ImagePolicy = policy) {
  const image = pinnedImage(`${await serve(routes)}/example/server@${digest}`);
  if (image === undefined) throw new Error('it has a digest');
  const signal = new AbortController().signal;
  return imageProvenance(image, expected, { signal, readRoot: async () => sigstore.root });
}

describe.each([
  ['that refers to it', referring, 'another image'],
  ['at its tag', tagged, 'of another image'],
] as const)('a signature of an image %s', (_name, sign, otherImage) => {
  test('proves where it was built', async () => {
    expect(await verify(await sign())).toMatchObject({
      status: 'verified',
      repository: 'https://github.com/example/server',
      workflow: '.github/workflows/release.yml@refs/tags/v1.0.0',
    });
  });

  test('is refused if it is of another image', async () => {
    const routes =
      sign === tagged ? await tagged({ of: digestOf('other') }) : await referring({ of: '0'.repeat(64) });

    expect(await verify(routes)).toEqual({ status: 'failed', reason: expect.stringContaining(otherImage) });
  });

  test.each<[string, Partial<BuildClaims>, string]>([
    ['another repository', { repository: 'evil/server' }, 'built from https://github.com/evil/server'],
    ['a repository with a suffix', { repository: 'example/server-evil' }, 'server-evil, not from'],
    ['a repository in other case', { repository: 'Example/server' }, 'Example/server, not from'],
    [
      'another workflow',
      { sub: 'https://github.com/example/server/.github/workflows/evil.yml@refs/heads/main' },
      'the signer of its signature is /.github/workflows/evil.yml',
    ],
    ['another issuer', { iss: 'https://issuer.example' }, 'the issuer of its signature'],
    ['another runner', { runner_environment: 'self-hosted' }, 'the runner of its signature is self-hosted'],
  ])('is refused if %s signed it', async (_case, by, reason) => {
    expect(await verify(await sign({ by }))).toEqual({
      status: 'failed',
      reason: expect.stringContaining(reason),
    });
  });

  test('is refused if another certificate authority vouches for it', async () => {
    const routes = await sign();
    const own = sigstore;
    sigstore = await openTestSigstore();
    onTestFinished(async () => {
      await sigstore[Symbol.asyncDispose]();
      sigstore = own;
    });

    expect(await verify(routes)).toMatchObject({ status: 'failed' });
  });
});

test('a signed description of an image that was changed is refused', async () => {
  const payload = JSON.stringify({ critical: { image: { 'docker-manifest-digest': digest } } });

  expect(await verify(await tagged({ payload }))).toMatchObject({ status: 'failed' });
});

test('a valid signature beside a wrong one is enough', async () => {
  const routes = { ...(await referring({ of: '0'.repeat(64) })), ...(await tagged()) };

  expect(await verify(routes)).toMatchObject({ status: 'verified' });
});

test('an attestation of the type in the registry entry is required', async () => {
  const wanted = { ...policy, attestation: { predicate_type: 'https://slsa.dev/provenance/v1' } };

  const [right, wrong] = [
    await verify(await referring(), wanted),
    await verify(await referring({ type: 'https://example.com/v1' }), wanted),
  ];

  expect([right.status, wrong.status]).toEqual(['verified', 'failed']);
});

test('a registry that wants a token is asked for one as by anyone', async () => {
  const routes = await referring();
  const guarded = Object.fromEntries(
    Object.entries(routes).map(([path, route]): [string, Route] => [
      path,
      (exchange) => {
        if (exchange.headers.authorization === 'Bearer granted') return route(exchange);
        const realm = `http://${exchange.headers.host}/token`;
        exchange.reply(
          401,
          {},
          { 'www-authenticate': `Bearer realm="${realm}",service="test",scope="pull"` },
        );
      },
    ]),
  );
  const token: Route = ({ url, reply }) =>
    reply(url.search === '?service=test&scope=pull' ? 200 : 400, { token: 'granted' });

  expect(await verify({ ...guarded, 'GET /token': token })).toMatchObject({ status: 'verified' });
});

test('a registry cannot send the request for a token to a private address', async () => {
  const realm = 'http://169.254.169.254/latest/meta-data';
  const challenge: Route = ({ reply }) => reply(401, {}, { 'www-authenticate': `Bearer realm="${realm}"` });

  const verifying = verify({ [`GET ${base}/referrers/${digest}`]: challenge });

  await expect(verifying).rejects.toThrow('is not https');
});

/** Creates a workload of an image in a registry whose entry names the signer. */
async function run(routes: Record<string, Route>, image_verification?: ImageVerification, isKnown = true) {
  const image = `${await serve(routes)}/example/server@${digest}`;
  const server = memoryTestServers.get(testServer);
  if (server === undefined) throw new Error('it is one of the test servers');
  const core = await openCoreWith(image, () => openMemoryRuntime(new Map([[image, server]])));
  const asked = { name: 'one', image: isKnown ? 'signed' : image };
  await createWorkload(core, { ...asked, ...(image_verification && { image_verification }) }, call);
  return getWorkload(core, 'one');
}

const call = { report: () => {}, signal: new AbortController().signal };

async function openCoreWith(image: string, openRuntime: (home: string) => Runtime): Promise<Core> {
  const home = await makeHome();
  const core = await openTestCore(home, {
    readTrustedRoot: async () => sigstore.root,
    runtimes: () => [openRuntime(home.path)],
    timing: { ...quickTiming, startMs: 60_000, stopMs: 2_000 },
  });
  onTestFinished(async () => {
    await core[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });
  const entry = {
    image,
    description: 'A signed image.',
    transport: 'stdio',
    tools: ['none'],
    provenance: policy,
  };
  const registry = { version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: { signed: entry } };
  await writeFile(join(home.path, 'registry.json'), JSON.stringify(registry));
  await core.registry.update({ local_path: join(home.path, 'registry.json') }, call.signal);
  return core;
}

describe('a workload of an image', () => {
  test('says where the image was built', async () => {
    const details = await run(await referring(), 'enabled');

    expect(details).toMatchObject({
      integrity: digest,
      provenance: { status: 'verified' },
      image_verification: 'enabled', // so that a later edit does not weaken the requirement
    });
  });

  test('without a signature runs by default, and says so', async () => {
    const details = await run({});

    expect(details.provenance).toEqual({ status: 'absent', reason: 'the image has no signature' });
  });

  test('with a wrong signature runs by default, with a warning', async () => {
    const details = await run(await tagged({ by: { repository: 'evil/server' } }));

    expect(details.warnings?.join()).toContain('WARNING: the signature of its image is wrong: built from');
  });

  test.each<[string, () => Promise<Record<string, Route>>, boolean, string]>([
    ['without a signature', async () => ({}), true, 'the image has no signature'],
    [
      'with a wrong signature',
      () => tagged({ by: { repository: 'evil/server' } }),
      true,
      'evil/server, not from',
    ],
    ['that no registry entry describes', () => referring(), false, 'no registry entry names the signer'],
    [
      'whose registry answers with errors',
      async () => ({ [`GET ${base}/referrers/${digest}`]: ({ reply }) => reply(500, {}) }),
      true,
      'returned status 500',
    ],
  ])('%s is refused if verification is enabled', async (_name, routes, isKnown, reason) => {
    await expect(run(await routes(), 'enabled', isKnown)).rejects.toMatchObject({
      kind: 'forbidden',
      message: expect.stringContaining(reason),
    });
  });

  test('is not looked up if verification is disabled', async () => {
    const details = await run(await referring(), 'disabled');

    expect(details.provenance).toBeUndefined();
  });
});

/** A server that answers the handshake, as a program of BusyBox. */
const shellServer = `#!/bin/sh
while read -r line; do
  id=\${line#*'"id":'}
  id=\${id%%[,\\}]*}
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"shell","version":"1"}}}\\n' "$id" ;;
    *'"id":'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}\\n' "$id" ;;
  esac
done
`;

const socket = await engineSocket('docker');

describe.runIf(socket !== '')('an image that Docker pulls', () => {
  const openRuntime = (home: string): Runtime =>
    openDockerRuntime({
      daemonId: randomUUID(),
      env: {},
      tempDir: home,
      recordsDir: home,
      socket,
    });
  const permission_profile = { network: { outbound: { insecure_allow_all: false } } };
  const request = { image: 'signed', image_verification: 'enabled', permission_profile } as const;
  let registry: TestRegistry;
  beforeAll(async () => void (registry = await startRegistry()));
  afterAll(() => registry[Symbol.asyncDispose]());

  test('runs by the digest that was signed, even after its tag names another image', async () => {
    const parts = { programs: { 'bin/sh': await readFile('/bin/busybox') } };
    const signed = await registry.offer('example/server', '1', shellServer, parts);
    const bundle = await bundleFor({ of: signed.replace('sha256:', '') });
    registry.refer('example/server', signed, mediaType, bundle);
    const core = await openCoreWith(`${registry.host}/example/server:1`, openRuntime);

    await createWorkload(core, { ...request, name: 'one' }, call);
    await registry.offer('example/server', '1', `${shellServer}# changed`, parts);
    await core.workloads.require('one').restart();

    await expect
      .poll(() => getWorkload(core, 'one'))
      .toMatchObject({ status: 'running', integrity: signed, provenance: { status: 'verified' } });
    expect((await getWorkload(core, 'one')).package).toContain(signed);
  });

  test('never runs if verification is required and it has no signature', async () => {
    await registry.offer('example/unsigned', '1', shellServer);
    const core = await openCoreWith(`${registry.host}/example/unsigned:1`, openRuntime);

    await expect(createWorkload(core, { ...request, name: 'one' }, call)).rejects.toMatchObject({
      kind: 'forbidden',
      message: expect.stringContaining('the image has no signature'),
    });
    expect(core.workloads.find('one')).toBeUndefined();
  });
});
