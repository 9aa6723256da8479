import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants, existsSync } from 'node:fs';
import { access, mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { pack } from 'tar-stream';
import * as z from 'zod';
import { buildImage } from '../docker/build.ts';
import { removeContainer } from '../docker/container.ts';
import { callEngine, connectEngine } from '../docker/engine.ts';
import type { OrdinaryUser } from './ordinary-user.ts';

const run = promisify(execFile);

/** A container engine of this test run alone. Disposing of it ends it and removes all it had. */
export interface TestEngine extends AsyncDisposable {
  name: 'docker' | 'podman';
  socket: string;
}

/** The image with the test servers, made by `buildTestImage`. */
export const TEST_IMAGE = 'toolhive-test-servers:1';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;

/** Which engines can be started here; the others with the reason why not. */
export async function availableEngines(): Promise<Record<TestEngine['name'], true | string>> {
  return { docker: await canRun('dockerd'), podman: await canRun('podman') };
}

/** Starts a Docker Engine by hand: its own data, its own socket, no default bridge to disturb another one's. */
export async function startDockerEngine(): Promise<TestEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'thv-docker-'));
  const socket = join(folder, 'docker.sock');
  return startEngine('docker', folder, socket, await find('dockerd'), [
    '--data-root',
    join(folder, 'data'),
    '--exec-root',
    join(folder, 'exec'),
    '--host',
    `unix://${socket}`,
    '--pidfile',
    join(folder, 'dockerd.pid'),
    '--bridge',
    'none',
    // The default pools have room for 30 networks, among them those that an engine left behind that was killed.
    '--default-address-pool',
    'base=10.213.0.0/16,size=27',
  ]);
}

/** Starts the API service of a Podman with its own storage; its containers are run by runc. */
export async function startPodmanEngine(): Promise<TestEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'thv-podman-'));
  const socket = join(folder, 'podman.sock');
  const config = join(folder, 'containers.conf');
  // Its usual runtime wants one kind of cgroups; on machines that mix both, only runc works.
  await writeFile(
    config,
    '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n',
  );
  const registries = join(folder, 'registries.conf');
  await writeFile(registries, '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n');
  const storage = ['--root', join(folder, 'data'), '--runroot', join(folder, 'run')];
  const network = ['--network-config-dir', join(folder, 'networks')];
  await mkdir(join(folder, 'networks'));
  return startEngine(
    'podman',
    folder,
    socket,
    await find('podman'),
    [...storage, ...network, 'system', 'service', '--time=0', `unix://${socket}`],
    { CONTAINERS_CONF: config, CONTAINERS_REGISTRIES_CONF: registries },
  );
}

/** Starts the API service of a rootless Podman of an ordinary user. Its containers get no limits where cgroups are not delegated. */
export async function startRootlessPodman(user: OrdinaryUser): Promise<TestEngine> {
  const folder = await user.folder('podman');
  const config = join(folder, 'containers.conf');
  await writeFile(
    config,
    '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n',
  );
  const storage = join(folder, 'storage.conf');
  await writeFile(storage, '[storage]\ndriver = "overlay"\n');
  const socket = join(folder, 'podman.sock');
  const [program, ...args] = user.command(
    await find('podman'),
    'system',
    'service',
    '--time=0',
    `unix://${socket}`,
  );
  const env = { ...user.env, CONTAINERS_CONF: config, CONTAINERS_STORAGE_CONF: storage };
  return startEngine('podman', folder, socket, program, args, env);
}

/** Builds `TEST_IMAGE` out of what this machine has: no registry is asked for anything. */
export async function buildTestImage({ socket }: Pick<TestEngine, 'socket'>): Promise<void> {
  const servers = join(import.meta.dirname, '../../../test-servers');
  const files = await programFiles({
    node: process.execPath,
    sleep: await find('sleep'),
    sh: await find('sh'),
  });
  for (const name of ['main.js', 'http.js', 'servers.js', 'package.json']) {
    files.set(`app/${name}`, join(servers, name));
  }
  const dockerfile = [
    'FROM scratch',
    'COPY files/ /',
    'ENV PATH=/bin',
    'WORKDIR /app',
    'ENTRYPOINT ["node", "/app/main.js"]',
  ].join('\n');
  await buildFromScratch(socket, TEST_IMAGE, dockerfile, files);
}

/** Programs of this machine with the libraries that they need, as files of an image. */
export async function programFiles(programs: Readonly<Record<string, string>>): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const [name, path] of Object.entries(programs)) {
    files.set(`bin/${name}`, path);
    for (const library of await librariesOf(path)) files.set(library.slice(1), library);
  }
  return files;
}

/** Builds a small image from a Dockerfile and files of this machine (`/path/in/archive` → `path here`). */
export async function buildFromScratch(
  socket: string,
  image: string,
  dockerfile: string,
  files: ReadonlyMap<string, string> = new Map(),
): Promise<void> {
  const engine = await connectEngine(socket);
  async function* archive() {
    const tar = pack();
    const written = (async () => {
      tar.entry({ name: 'Dockerfile' }, dockerfile);
      // A user who is not root must be able to write to a tmpfs that is laid over it.
      tar.entry({ name: 'files/tmp/', type: 'directory', mode: 0o1777 });
      for (const [name, path] of files) {
        const content = await readFile(path);
        await new Promise((done) => tar.entry({ name: `files/${name}`, mode: 0o755 }, content, done));
      }
      tar.finalize();
    })();
    yield* tar;
    await written;
  }
  await buildImage(engine, {
    title: image,
    image,
    context: Readable.from(archive()),
    dockerfile: 'Dockerfile',
    fresh: false,
    env: {},
    report: () => {},
    signal: AbortSignal.timeout(300_000),
  });
}

async function startEngine(
  name: TestEngine['name'],
  folder: string,
  socket: string,
  program: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<TestEngine> {
  const logFile = join(folder, 'engine.log');
  await using log = await open(logFile, 'a');
  const child = spawn(program, args, {
    // What it drops where it stands (Podman's monitor does), goes when the folder goes.
    cwd: folder,
    // Garbage of Go programs is collected less often, for about a tenth of their processor time.
    env: { ...process.env, GOGC: '400', ...env },
    stdio: ['ignore', log.fd, log.fd],
  });
  const engine: TestEngine = {
    name,
    socket,
    async [Symbol.asyncDispose]() {
      // An engine that never started has nothing to remove.
      await removeEverything(socket).catch(() => {});
      await end(child);
      await unmountBelow(folder);
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }); // its last helpers may still write
    },
  };
  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    try {
      await connectEngine(socket);
      return engine;
    } catch (error) {
      if (child.exitCode === null && Date.now() < deadline) {
        await delay(50);
        continue;
      }
      const said = (await readFile(logFile, 'utf8')).slice(-2000);
      await engine[Symbol.asyncDispose]();
      throw new Error(`${name} did not start:\n${said}`, { cause: error });
    }
  }
}

const Things = z.array(z.looseObject({ Id: z.string(), Name: z.string().optional() }));

/** What an engine leaves running when it ends: containers, and the bridges of networks. */
async function removeEverything(socket: string): Promise<void> {
  const engine = await connectEngine(socket);
  const query = { all: '1' };
  const containers = await callEngine(engine, Things, { method: 'GET', path: '/containers/json', query });
  for (const { Id } of containers) await removeContainer(engine, Id);
  const networks = await callEngine(engine, Things, { method: 'GET', path: '/networks' });
  for (const { Id, Name } of networks) {
    if (['none', 'host', 'bridge', 'podman'].includes(Name ?? '')) continue;
    await callEngine(engine, z.unknown(), { method: 'DELETE', path: `/networks/${Id}` });
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

async function unmountBelow(folder: string): Promise<void> {
  const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of mounts.toReversed()) await run('umount', ['-l', path]);
}

async function canRun(program: string): Promise<true | string> {
  if (process.platform !== 'linux') return `${program} is started only on Linux`;
  if (process.getuid?.() !== 0) return `only root may start ${program}`;
  return (await findOrUndefined(program)) === undefined ? `${program} is not installed` : true;
}

async function find(program: string): Promise<string> {
  const path = await findOrUndefined(program);
  if (path === undefined) throw new Error(`${program} is not installed`);
  return path;
}

async function findOrUndefined(program: string): Promise<string | undefined> {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']) {
    const path = join(folder, program);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}

/** The shared libraries of a program, and those that the C library loads to resolve names. */
async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run('ldd', [program]);
  const libraries = [...stdout.matchAll(/(\/\S+) \(0x/g)].flatMap(([, path]) => path ?? []);
  const names = libraries
    .filter((path) => basename(path).startsWith('libc.so'))
    .flatMap((path) =>
      ['libnss_files.so.2', 'libnss_dns.so.2', 'libresolv.so.2'].map((name) => join(path, '..', name)),
    )
    .filter((path) => existsSync(path));
  return [...libraries, ...names];
}
