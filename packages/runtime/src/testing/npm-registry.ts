import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { glob, readFile, readdir, stat } from 'node:fs/promises';
import { type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, relative, sep } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';

/** A package as it is published: its manifest, and a tarball of its files. */
interface Published {
  manifest: { name: string; version: string };
  tarball: Buffer;
}

/** A small npm registry on a loopback port that serves folders as packages. */
export interface NpmRegistry extends AsyncDisposable {
  /** For `npm_config_registry`. */
  readonly url: string;
  /** What was asked for so far, as `METHOD path`. */
  readonly requests: readonly string[];
  /** The integrity of a published version. */
  integrityOf: (name: string, version: string) => string;
  /** Answers to paths besides packages, such as attestations. */
  readonly answers: Map<string, Answer>;
  /** When versions were published, by `NAME@VERSION`. By default, a moment ago. */
  readonly times: Map<string, string>;
  /** Publishes another version, or another content of the same version. */
  republish: (folder: string) => Promise<void>;
}

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body: string;
}

/** Publishes the packages that lie in the folders; several folders may hold versions of the same one. */
export async function openNpmRegistry(folders: readonly string[]): Promise<NpmRegistry> {
  let published = await Promise.all(folders.map(publish));
  const requests: string[] = [];
  const answers = new Map<string, Answer>();
  const times = new Map<string, string>();
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const other = answers.get(decodeURIComponent(request.url ?? '/'));
    if (other !== undefined) {
      response.writeHead(other.status, other.headers).end(other.body);
      return;
    }
    answer(
      { published, times },
      `http://${request.headers.host}`,
      decodeURIComponent(request.url ?? '/'),
      response,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const isOf = (name: string, version: string) => (one: Published) =>
    one.manifest.name === name && one.manifest.version === version;
  return {
    url: `http://127.0.0.1:${port}/`,
    requests,
    answers,
    times,
    integrityOf(name, version) {
      const found = published.find(isOf(name, version));
      if (found === undefined) throw new Error(`${name}@${version} is not published`);
      return integrityOf(found.tarball);
    },
    async republish(folder) {
      const changed = await publish(folder);
      const { name, version } = changed.manifest;
      published = [...published.filter((one) => !isOf(name, version)(one)), changed];
    },
    [Symbol.asyncDispose]: () => close(server),
  };
}

interface Catalog {
  published: readonly Published[];
  times: ReadonlyMap<string, string>;
}

function answer({ published, times }: Catalog, origin: string, path: string, response: ServerResponse): void {
  const tarball = published.find(({ manifest }) => path === tarballPath(manifest));
  if (tarball !== undefined) {
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(tarball.tarball);
    return;
  }
  const versions = published.filter(({ manifest }) => path === `/${manifest.name}`);
  response.writeHead(versions.length === 0 ? 404 : 200, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify(
      versions.length === 0 ? { error: 'not found' } : packument({ published: versions, times }, origin),
    ),
  );
}

function packument({ published: versions, times }: Catalog, origin: string) {
  return {
    name: versions[0]?.manifest.name,
    time: Object.fromEntries(
      versions.map(({ manifest: { name, version } }) => [
        version,
        times.get(`${name}@${version}`) ?? new Date().toISOString(),
      ]),
    ),
    'dist-tags': { latest: versions.at(-1)?.manifest.version },
    versions: Object.fromEntries(
      versions.map(({ manifest, tarball }) => [
        manifest.version,
        { ...manifest, dist: dist(manifest, tarball, origin) },
      ]),
    ),
  };
}

const dist = (manifest: Published['manifest'], tarball: Buffer, origin: string) => ({
  tarball: `${origin}${tarballPath(manifest)}`,
  integrity: integrityOf(tarball),
  shasum: createHash('sha1').update(tarball).digest('hex'),
});

const integrityOf = (tarball: Buffer) => `sha512-${createHash('sha512').update(tarball).digest('base64')}`;

const tarballPath = ({ name, version }: Published['manifest']) => `/${name}/-/${version}.tgz`;

/** The same content has the same hash, as with npm. */
const mtime = new Date('1985-10-26T08:15:00.000Z');

/** Packs a folder as `npm pack` does, which takes ten times as long. */
async function publish(folder: string): Promise<Published> {
  const manifest = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  ) as Published['manifest'] & {
    files?: string[];
    bin?: string | Record<string, string>;
  };
  const { files, bin = {} } = manifest;
  const programs = (typeof bin === 'string' ? [bin] : Object.values(bin)).map((path) => join(folder, path));
  const packed = pack();
  const compressed = buffer(packed.pipe(createGzip()));
  for (const path of await filesIn(folder, files)) {
    const mode = programs.includes(path) ? 0o755 : 0o644;
    packed.entry({ name: `package/${relative(folder, path)}`, mode, mtime }, await readFile(path));
  }
  packed.finalize();
  return { manifest, tarball: await compressed };
}

/** The files that patterns name, or all of them, without those of other packages. */
async function filesIn(folder: string, patterns: readonly string[] | undefined): Promise<string[]> {
  const found = new Set<string>();
  const places =
    patterns === undefined
      ? ['.']
      : await Array.fromAsync(glob(['package.json', ...patterns], { cwd: folder }));
  for (const place of places.map((each) => join(folder, each)).toSorted()) {
    if ((await stat(place)).isFile()) found.add(place);
    else
      for (const entry of await readdir(place, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        if (entry.isFile() && !relative(folder, path).split(sep).includes('node_modules')) found.add(path);
      }
  }
  return [...found];
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
