// The images of the operator, built from this repository without a base image: `npm run images`.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { glob, mkdir, mkdtempDisposable, readFile, realpath, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { parseArgs, promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import type { Pack } from 'tar-stream';
import { bundle, filesOf, licensesOf, root } from './build.ts';
import { operatorFlags, operatorPrograms } from './build-operator.ts';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const accessRequire = createRequire(join(root, 'packages/access/package.json'));

/** The images by their names, each with its program. */
export const images = {
  'toolhive-operator': 'operator',
  'toolhive-proxyrunner': 'proxy-runner',
  'toolhive-registry-api': 'registry-api',
} as const satisfies Record<string, keyof typeof operatorPrograms>;
export type ImageName = keyof typeof images;

export interface BuiltImage {
  /** The digest of the image manifest. Equal sources, tools, and libraries give equal digests. */
  digest: string;
  /** The size of the compressed layers. */
  bytes: number;
  /** The OCI layout, which `docker load` and `skopeo copy oci-archive:` also read. */
  archive: string;
  /** The CycloneDX document, which the image also contains as `/app/sbom.cdx.json`. */
  sbom: string;
}

/** A file or a directory of a layer. */
interface Entry {
  content?: Buffer;
  mode: number;
}

/** Builds one image into a folder. The user is 1000, and nothing in the image needs to be writable but `/tmp`. */
export async function buildOperatorImage(
  name: ImageName,
  { folder, tag = 'dev' }: { folder: string; tag?: string },
): Promise<BuiltImage> {
  await mkdir(folder, { recursive: true });
  const program = images[name];
  const { files, components } = await appFiles(program);
  const { version } = JSON.parse(await readFile(join(root, 'apps/operator/package.json'), 'utf8')) as Package;
  const sbom = `${JSON.stringify(sbomOf(name, version, components), undefined, 2)}\n`;
  files.set('app/sbom.cdx.json', { content: Buffer.from(sbom), mode: 0o644 });
  const layers = await Promise.all([layerOf(await platformFiles()), layerOf(files)]);
  const config = json({
    architecture: { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch,
    os: 'linux',
    created: epoch,
    config: {
      User: '1000:1000',
      Entrypoint: ['/bin/node', ...(program === 'operator' ? operatorFlags : []), `/app/${program}.js`],
      WorkingDir: '/tmp',
      Env: ['PATH=/bin', 'HOME=/tmp', 'NODE_ENV=production'],
      Labels: {
        'org.opencontainers.image.title': name,
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'dev.toolhive.sbom': '/app/sbom.cdx.json',
      },
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(() => ({ created: epoch, created_by: 'scripts/images.ts' })),
  });
  const manifest = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor('application/vnd.oci.image.config.v1+json', config),
    layers: layers.map(({ blob }) => descriptor('application/vnd.oci.image.layer.v1.tar+gzip', blob)),
  });
  const reference = `${name}:${tag}`;
  const archive = join(folder, `${name}.tar`);
  await writeArchive(archive, { config, manifest, layers: layers.map(({ blob }) => blob), reference });
  const sbomFile = join(folder, `${name}.cdx.json`);
  await writeFile(sbomFile, sbom);
  const bytes = layers.reduce((sum, { blob }) => sum + blob.length, 0);
  return { digest: digestOf(manifest), bytes, archive, sbom: sbomFile };
}

const epoch = '1970-01-01T00:00:00Z';
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const hashOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
const digestOf = (content: Buffer): string => `sha256:${hashOf(content)}`;
const descriptor = (mediaType: string, content: Buffer, more: object = {}) => ({
  mediaType,
  digest: digestOf(content),
  size: content.length,
  ...more,
});

/** Node.js from its pinned npm package, with the libraries of this machine that the program loads. */
async function platformFiles(): Promise<Map<string, Entry>> {
  const node = await nodeProgram();
  const files = new Map<string, Entry>([
    ['tmp/', { mode: 0o1777 }],
    ['etc/passwd', { content: Buffer.from('toolhive:x:1000:1000::/tmp:/bin/false\n'), mode: 0o644 }],
    ['etc/group', { content: Buffer.from('toolhive:x:1000:\n'), mode: 0o644 }],
    ['bin/node', { content: await readFile(node), mode: 0o755 }],
  ]);
  for (const library of await librariesOf(node))
    files.set(library.slice(1), { content: await readFile(library), mode: 0o755 });
  return files;
}

const nodeProgram = (): Promise<string> =>
  realpath(join(dirname(require.resolve('node/package.json')), 'bin/node'));

async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run('ldd', [program]);
  return [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].map(([, path = '']) => path).toSorted();
}

interface Package {
  name: string;
  version: string;
  license?: string;
}

/** The bundled program, the packages that read files beside themselves, and the licenses of all of them. */
async function appFiles(
  program: keyof typeof operatorPrograms,
): Promise<{ files: Map<string, Entry>; components: Package[] }> {
  await using work = await mkdtempDisposable(join(root, 'apps/operator/dist-image-'));
  const outdir = join(work.path, 'app');
  const { 'source-reader': sourceReader } = operatorPrograms;
  const entries = {
    [program]: operatorPrograms[program],
    ...(program === 'operator' ? { 'source-reader': sourceReader } : {}),
  };
  const metafile = await bundle(entries, outdir, { minifyWhitespace: true });
  const files = new Map<string, Entry>([
    ['app/package.json', { content: Buffer.from('{"type":"module"}\n'), mode: 0o644 }],
  ]);
  const add = async (path: string, file: string): Promise<void> => {
    files.set(path, { content: await readFile(file), mode: 0o644 });
  };
  for await (const file of glob('**/*.js', { cwd: outdir })) await add(`app/${file}`, join(outdir, file));
  const cedar = join(dirname(accessRequire.resolve('@cedar-policy/cedar-wasm/nodejs')), '..');
  for await (const file of glob(['package.json', 'nodejs/*.{js,json,wasm}', 'LICENSE*'], { cwd: cedar }))
    await add(`app/node_modules/@cedar-policy/cedar-wasm/${file}`, join(cedar, file));
  const inputs = [...filesOf(metafile), join(cedar, 'package.json')];
  files.set('app/licenses.txt', { content: Buffer.from(await licensesOf(inputs)), mode: 0o644 });
  return { files, components: await componentsOf([...inputs, require.resolve('node/package.json')]) };
}

async function componentsOf(inputs: readonly string[]): Promise<Package[]> {
  const folders = new Set(inputs.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []));
  const packages = [...folders].map(
    async (folder) => JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Package,
  );
  return (await Promise.all(packages)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A CycloneDX document without a serial number and a time, so that equal images have equal documents. */
function sbomOf(name: string, version: string, components: readonly Package[]): object {
  const purlOf = ({ name: component, version: its }: Package): string =>
    `pkg:npm/${component.replace('@', '%40')}@${its}`;
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'container', 'bom-ref': name, name, version } },
    components: components.map((component) => ({
      type: 'library',
      'bom-ref': purlOf(component),
      name: component.name,
      version: component.version,
      purl: purlOf(component),
      ...(component.license === undefined ? {} : { licenses: [{ expression: component.license }] }),
    })),
  };
}

/** Compressed layers by the digests of their contents. Compressing Node.js takes seconds, and all images contain it. */
const compressed = new Map<string, Buffer>();

/** Packs entries in the order of their paths, with fixed times and owners. */
async function layerOf(entries: ReadonlyMap<string, Entry>): Promise<{ blob: Buffer; diffId: string }> {
  const tar = pack();
  const packed = buffer(tar);
  for (const [name, { content, mode }] of [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    await addEntry(tar, name, content, mode);
  tar.finalize();
  const bytes = await packed;
  const diffId = digestOf(bytes);
  const blob = compressed.get(diffId) ?? gzipSync(bytes);
  compressed.set(diffId, blob);
  return { blob, diffId };
}

function addEntry(tar: Pack, name: string, content: Buffer | undefined, mode: number): Promise<void> {
  const header = { name, mode, mtime: new Date(0), uid: 0, gid: 0 };
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null): void => (error ? reject(error) : resolve());
    if (content === undefined) tar.entry({ ...header, type: 'directory' }, done);
    else tar.entry(header, content, done);
  });
}

interface ImageParts {
  config: Buffer;
  manifest: Buffer;
  layers: readonly Buffer[];
  /** The name and tag of the image. */
  reference: string;
}

/** Writes an OCI image layout with the `manifest.json` that older versions of `docker load` read. */
async function writeArchive(
  path: string,
  { config, manifest, layers, reference }: ImageParts,
): Promise<void> {
  const blobs = [config, manifest, ...layers];
  const blobPath = (content: Buffer): string => `blobs/sha256/${hashOf(content)}`;
  const names = { 'org.opencontainers.image.ref.name': reference, 'io.containerd.image.name': reference };
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [descriptor('application/vnd.oci.image.manifest.v1+json', manifest, { annotations: names })],
  };
  const docker = [{ Config: blobPath(config), RepoTags: [reference], Layers: layers.map(blobPath) }];
  const tar = pack();
  const written = pipeline(tar, createWriteStream(path));
  await addEntry(tar, 'oci-layout', json({ imageLayoutVersion: '1.0.0' }), 0o644);
  await addEntry(tar, 'index.json', json(index), 0o644);
  await addEntry(tar, 'manifest.json', json(docker), 0o644);
  for (const blob of blobs) await addEntry(tar, blobPath(blob), blob, 0o644);
  tar.finalize();
  await written;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { tag: { type: 'string' } } });
  const folder = join(root, 'dist/images');
  for (const name of Object.keys(images) as ImageName[]) {
    const { digest, bytes, archive } = await buildOperatorImage(name, { folder, ...values });
    process.stdout.write(`${relative(root, archive)} ${digest} ${Math.round(bytes / 1024 ** 2)} MiB\n`);
  }
}
