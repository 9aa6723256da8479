import { execFile } from 'node:child_process';
import { mkdtempDisposable, readdir, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { connectEngine } from '../docker/engine.ts';
import { inspectImage } from '../docker/images.ts';
import { buildFromScratch, programFiles } from './docker-engine.ts';

const run = promisify(execFile);

/**
 * Stands in for the base images of packages, as no registry of images is needed for it: the real npm, uv, or Go of this
 * machine, and the programs that the Dockerfiles call. The package manager of the system and pip install nothing. The
 * packages in `registry` (contents by path) are all that can be fetched: builds have no network in the test engine.
 */
export interface BaseImage {
  image: string;
  ecosystem: keyof typeof ecosystems;
  registry: ReadonlyMap<string, string | Buffer>;
  /** A directory with the program `uv`, or the directory of a Go installation. */
  tools?: string;
}

/** Builds a base image with a registry. */
export async function buildBaseImage(
  socket: string,
  { image, ecosystem, registry, tools = '' }: BaseImage,
): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-base-'));
  const programs = await programsImage(socket, ecosystem, tools, folder.path);
  const files = await written(
    folder.path,
    [...registry].map(([path, content]) => [`registry${path}`, content]),
  );
  await buildFromScratch(socket, image, `FROM ${programs}\nCOPY files/ /`, files);
}

/** The image with the programs of an ecosystem, which all its base images in an engine share: it has up to 300 MB. */
async function programsImage(
  socket: string,
  ecosystem: keyof typeof ecosystems,
  tools: string,
  folder: string,
): Promise<string> {
  const image = `toolhive-programs-${ecosystem}:1`;
  if ((await inspectImage(await connectEngine(socket), image, AbortSignal.timeout(60_000))) !== undefined)
    return image;
  const { files, scripts, env } = await ecosystems[ecosystem](tools);
  const programs = ['sh', 'mkdir', 'chown', 'cat', 'ln', 'mv', 'sed', 'env'];
  for (const [name, path] of await programFiles({
    node: process.execPath,
    ...Object.fromEntries(programs.map((program) => [program, `/usr/bin/${program}`])),
  }))
    files.set(name, path);
  const added = { ...scripts, 'bin/apk': '#!/bin/sh\n', 'etc/ssl/certs/ca-certificates.crt': '' };
  for (const [path, file] of await written(folder, Object.entries(added))) files.set(path, file);
  await buildFromScratch(socket, image, `FROM scratch\nCOPY files/ /\nENV ${env}`, files);
  return image;
}

/** Writes contents to files, and returns the files by their path in the image. */
async function written(
  folder: string,
  contents: readonly (readonly [path: string, content: string | Buffer])[],
): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const [path, content] of contents) {
    const file = join(folder, crypto.randomUUID());
    await writeFile(file, content);
    files.set(path, file);
  }
  return files;
}

interface Contents {
  /** Files of this machine by their path in the image. */
  files: Map<string, string>;
  /** Further files with their contents. */
  scripts: Record<string, string>;
  env: string;
}

const ecosystems = {
  async npx(): Promise<Contents> {
    const npm = join(await realpath((await run('sh', ['-c', 'command -v npm'])).stdout.trim()), '../..');
    return {
      files: await filesBelow(npm, 'lib/npm'),
      scripts: { 'bin/npm': npmWithRegistry },
      env: 'PATH=/bin',
    };
  },
  async uvx(tools: string): Promise<Contents> {
    const ask = 'import sysconfig; print(sysconfig.get_path("stdlib"))';
    const library = (await run('/usr/bin/python3', ['-c', ask])).stdout.trim();
    const files = await programFiles({ uv: join(tools, 'uv') });
    for (const [path, file] of await programFiles({ python3: '/usr/bin/python3' }))
      files.set(path === 'bin/python3' ? 'usr/bin/python3' : path, file);
    const unneeded = /\/(test|tests|idlelib|lib2to3|__pycache__|config-[^/]*|dist-packages)\//;
    for (const [path, file] of await filesBelow(library, library.slice(1), unneeded)) files.set(path, file);
    const scripts = { 'bin/pip': '#!/bin/sh\n', 'bin/apt-get': '#!/bin/sh\n' };
    return { files, scripts, env: 'PATH=/bin:/usr/bin UV_OFFLINE=1 UV_FIND_LINKS=/registry/files' };
  },
  async go(tools: string): Promise<Contents> {
    const unneeded = /\/(testdata|cmd\/(?!internal)[^/]*|[^/]*_test\.go$)(\/|$)/;
    const files = new Map([
      ...(await filesBelow(join(tools, 'src'), 'go/src', unneeded)),
      ...(await filesBelow(join(tools, 'pkg'), 'go/pkg')),
      ['go/bin/go', join(tools, 'bin/go')],
      ['go/go.env', join(tools, 'go.env')],
      ['go/VERSION', join(tools, 'VERSION')],
    ]);
    const env = 'PATH=/bin:/go/bin GOROOT=/go GOPROXY=file:///registry GOSUMDB=off';
    return { files, scripts: {}, env };
  },
};

async function filesBelow(folder: string, as: string, unneeded = /^$/): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const needed = paths.filter((path) => !unneeded.test(path.slice(folder.length)));
  return new Map(needed.map((path) => [join(as, relative(folder, path)), path]));
}

/** The real npm, beside a registry that lives as long as this call of npm. */
const npmWithRegistry = `#!/bin/node
const { createServer } = require('http');
const { readFileSync } = require('fs');
const { spawn } = require('child_process');
const server = createServer((request, response) => {
  const path = '/registry' + decodeURIComponent(request.url);
  try {
    const isTarball = path.endsWith('.tgz');
    const content = readFileSync(isTarball ? path : path + '/packument.json');
    response.end(isTarball ? content : String(content).replaceAll('http://registry.example', 'http://' + request.headers.host));
  } catch {
    response.writeHead(404).end('{}');
  }
});
server.listen(0, '127.0.0.1', () => {
  const env = { ...process.env, npm_config_registry: 'http://127.0.0.1:' + server.address().port + '/' };
  const npm = spawn(process.execPath, ['/lib/npm/bin/npm-cli.js', ...process.argv.slice(2)], { env, stdio: 'inherit' });
  npm.on('close', (code) => {
    process.exitCode = code ?? 1;
    server.closeAllConnections();
    server.close();
  });
});
`;
