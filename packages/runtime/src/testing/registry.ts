import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

/** The parts of an image besides its content. */
export interface ImageParts {
  /** Programs by their path in the image. */
  programs?: Readonly<Record<string, Buffer>>;
  command?: readonly string[];
}

/** A container registry of this test alone, on loopback, where engines accept plain HTTP. */
export interface TestRegistry extends AsyncDisposable {
  /** `127.0.0.1:PORT`, to put before an image's name. */
  host: string;
  /**
   * Offers an image with one file in it, under a name and tag; an earlier one under that name is replaced. Returns the
   * digest.
   */
  offer: (name: string, tag: string, content: string, more?: ImageParts) => Promise<string>;
  /** Offers an artifact that refers to an image, such as a signature (OCI Distribution Specification, Referrers). */
  refer: (name: string, digest: string, artifactType: string, content: string) => void;
  /** The manifests that were asked for, as `name:reference`. */
  pulls: string[];
}

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';
const architectures: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/** Starts a registry; with a login, it serves nobody else. */
export async function startRegistry(login?: { username: string; password: string }): Promise<TestRegistry> {
  const blobs = new Map<string, Buffer>();
  const manifests = new Map<string, Buffer>();
  const referrers = new Map<string, object[]>();
  const pulls: string[] = [];
  const wanted = login && `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;

  const server = createServer((request, response) => {
    if (wanted !== undefined && request.headers.authorization !== wanted) {
      return void response.writeHead(401, { 'www-authenticate': 'Basic realm="test"' }).end('{"errors":[]}');
    }
    const [, name, kind, reference = ''] =
      /^\/v2\/(.+)\/(manifests|blobs|referrers)\/([^/]+)$/.exec(request.url ?? '') ?? [];
    if (name === undefined) return void response.writeHead(200).end('{}');
    if (kind === 'blobs') return send(response, blobs.get(reference), 'application/octet-stream');
    if (kind === 'referrers') {
      const index = { schemaVersion: 2, mediaType: INDEX, manifests: referrers.get(reference) ?? [] };
      return send(response, Buffer.from(JSON.stringify(index)), INDEX);
    }
    pulls.push(`${name}:${reference}`);
    send(response, manifests.get(`${name}:${reference}`), MANIFEST);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the registry listens on no port');

  function keep(content: Buffer): { size: number; digest: string } {
    const digest = digestOf(content);
    blobs.set(digest, content);
    return { size: content.length, digest };
  }

  return {
    host: `127.0.0.1:${address.port}`,
    pulls,
    async offer(name, tag, content, { programs = {}, command = ['/content'] } = {}) {
      const archive = pack();
      archive.entry({ name: 'content', mode: 0o755 }, content);
      for (const [path, program] of Object.entries(programs))
        archive.entry({ name: path, mode: 0o755 }, program);
      archive.finalize();
      const layer = await buffer(archive);
      const config = {
        architecture: architectures[process.arch],
        os: 'linux',
        config: { Cmd: command },
        rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
      };
      const manifest = Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: MANIFEST,
          config: {
            mediaType: 'application/vnd.docker.container.image.v1+json',
            ...keep(Buffer.from(JSON.stringify(config))),
          },
          layers: [
            { mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip', ...keep(gzipSync(layer)) },
          ],
        }),
      );
      manifests.set(`${name}:${tag}`, manifest);
      manifests.set(`${name}:${digestOf(manifest)}`, manifest);
      return digestOf(manifest);
    },
    refer(name, digest, artifactType, content) {
      const layer = { mediaType: artifactType, ...keep(Buffer.from(content)) };
      const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, artifactType, layers: [layer] }));
      manifests.set(`${name}:${digestOf(manifest)}`, manifest);
      referrers.set(digest, [...(referrers.get(digest) ?? []), { digest: digestOf(manifest), artifactType }]);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, content: Buffer | undefined, type: string): void {
  if (content === undefined) {
    const error = { code: 'MANIFEST_UNKNOWN', message: 'manifest unknown' };
    response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ errors: [error] }));
    return;
  }
  const headers = { 'content-type': type, 'docker-content-digest': digestOf(content) };
  response.writeHead(200, { ...headers, 'content-length': content.length }).end(content);
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
