import { createHash, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { bundleToJSON } from '@sigstore/bundle';
import { fulcioHandler, initializeCA, initializeCTLog, initializeTLog, rekorHandler } from '@sigstore/mock';
import { DSSEBundleBuilder, FulcioSigner, MessageSignatureBundleBuilder, RekorWitness } from '@sigstore/sign';
import { TrustedRoot } from '@sigstore/protobuf-specs';

/** What the certificate of a signature says of a build. Names are those of the tokens of GitHub Actions. */
export interface BuildClaims {
  /** The subject of the certificate: the workflow that signs, as a URL. */
  sub: string;
  iss: string;
  repository: string;
  sha: string;
  ref: string;
  workflow_ref: string;
  runner_environment: string;
}

/** A certificate authority with transparency logs of this test alone, and the root that trusts nothing else. */
export interface TestSigstore extends AsyncDisposable {
  root: TrustedRoot;
  /** Signs an in-toto statement. Returns the bundle as JSON. */
  attest: (statement: unknown, claims?: Partial<BuildClaims>) => Promise<unknown>;
  /** Signs a text, as cosign does with the description of an image. Returns the bundle as JSON. */
  sign: (content: string, claims?: Partial<BuildClaims>) => Promise<unknown>;
}

export const aBuild: BuildClaims = {
  sub: 'https://github.com/example/server/.github/workflows/release.yml@refs/tags/v1.0.0',
  iss: 'https://token.actions.githubusercontent.com',
  repository: 'example/server',
  sha: '3f786850e387550fdab836ed7e6dc881de23001b',
  ref: 'refs/tags/v1.0.0',
  workflow_ref: 'example/server/.github/workflows/release.yml@refs/tags/v1.0.0',
  runner_environment: 'github-hosted',
};

const mediaType = 'application/vnd.in-toto+json';

export async function openTestSigstore(): Promise<TestSigstore> {
  const keys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const [authority, certificates, log] = [keys(), keys(), keys()];
  const ctLog = await initializeCTLog(certificates);
  const ca = await initializeCA(authority, ctLog);
  const server = createServer((request, response) => {
    const route = routes.find(({ path }) => path === request.url);
    if (route === undefined) {
      response.writeHead(404).end();
      return;
    }
    void text(request)
      .then((body) => route.fn(body))
      .then(({ statusCode, response: answer, contentType }) =>
        response.writeHead(statusCode, { 'content-type': contentType ?? 'text/plain' }).end(answer),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tlog = await initializeTLog(origin, log);
  const routes = [fulcioHandler(ca), rekorHandler(tlog)];
  const signing = (claims: Partial<BuildClaims> = {}) => ({
    signer: new FulcioSigner({
      fulcioBaseURL: origin,
      identityProvider: { getToken: async () => tokenOf({ ...aBuild, ...claims }) },
    }),
    witnesses: [new RekorWitness({ rekorBaseURL: origin, entryType: 'intoto' })],
  });
  return {
    root: TrustedRoot.fromJSON({
      mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
      tlogs: [logOf(origin, log.publicKey.export({ format: 'der', type: 'spki' }))],
      ctlogs: [logOf(origin, ctLog.publicKey)],
      certificateAuthorities: [
        {
          subject: { commonName: 'sigstore', organization: 'sigstore.mock' },
          uri: origin,
          certChain: { certificates: [{ rawBytes: bytesOf(ca.rootCertificate).toString('base64') }] },
          validFor: { start },
        },
      ],
      timestampAuthorities: [],
    }),
    async attest(statement, claims) {
      const builder = new DSSEBundleBuilder({ ...signing(claims), certificateChain: false });
      const data = Buffer.from(JSON.stringify(statement));
      return bundleToJSON(await builder.create({ data, type: mediaType }));
    },
    async sign(content, claims) {
      const builder = new MessageSignatureBundleBuilder(signing(claims));
      return bundleToJSON(await builder.create({ data: Buffer.from(content) }));
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const start = '2020-01-01T00:00:00Z';

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);

function logOf(baseUrl: string, publicKey: Buffer) {
  return {
    baseUrl,
    hashAlgorithm: 'SHA2_256',
    logId: { keyId: createHash('sha256').update(publicKey).digest('base64') },
    publicKey: {
      rawBytes: publicKey.toString('base64'),
      keyDetails: 'PKIX_ECDSA_P256_SHA_256',
      validFor: { start },
    },
  };
}

/** A token that the authority of a test believes without a signature. */
function tokenOf(claims: BuildClaims): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part(claims)}.c2lnbmF0dXJl`;
}
