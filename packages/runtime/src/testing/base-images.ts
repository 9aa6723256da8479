import { execFile } from 'node:child_process';
import { mkdtempDisposable, readdir, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
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
  const { files, scripts, env } = await ecosystems[ecosystem](tools);
  const programs = ['sh', 'mkdir', 'chown', 'cat', 'ln', 'mv', 'sed', 'env'];
  for (const [name, path] of await programFiles({
    node: process.execPath,
    ...Object.fromEntries(programs.map((program) => [program, `/usr/bin/${program}`])),
  }))
    files.set(name, path);
  const added: [string, string | Buffer][] = [
    ...Object.entries({ ...scripts, 'bin/apk': '#!/bin/sh\n', 'etc/ssl/certs/ca-certificates.crt': '' }),
    ...[...registry].map(([path, content]) => [`registry${path}`, content] as const),
  ].map(([path, content]) => [path, content]);
  for (const [index, [path, content]] of added.entries()) {
    const file = join(folder.path, String(index));
    await writeFile(file, content);
    files.set(path, file);
  }
  const dockerfile = [`FROM scratch`, 'COPY files/ /', `ENV ${env}`].join('\n');
  await buildFromScratch(socket, image, dockerfile, files);
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
