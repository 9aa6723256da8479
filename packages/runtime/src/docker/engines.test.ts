import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Engines } from './engines.ts';
import { candidateSockets, findEngine } from './sockets.ts';

let home: string;
let open: AsyncDisposableStack;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'thv-engines-'));
  open = new AsyncDisposableStack();
});
afterEach(async () => {
  await open.disposeAsync();
  await rm(home, { recursive: true, force: true });
});

const environment = (): NodeJS.ProcessEnv => ({
  HOME: home,
  XDG_RUNTIME_DIR: join(home, 'run'),
  TMPDIR: home,
});

test.each(['DOCKER_HOST', 'CONTAINER_HOST'])('uses the engine that %s names', async (variable) => {
  const [named] = [await listen('named.sock'), await listen('.docker/run/docker.sock')];

  const engine = await new Engines({ ...environment(), [variable]: `unix://${named}` }, undefined).find();

  expect(engine.socket).toBe(named);
});

test('follows docker context use, and docker context use default', async () => {
  const [first, second] = [await listen('first.sock'), await listen('second.sock')];
  await makeContext('first', `unix://${first}`);
  await makeContext('second', `unix://${second}`);
  const engines = new Engines(environment(), undefined);
  const found: string[] = [];

  for (const currentContext of ['first', 'second', 'first', 'default']) {
    await writeFile(join(home, '.docker/config.json'), JSON.stringify({ currentContext }));
    found.push((await engines.find()).socket);
  }

  expect(found).toEqual([first, second, first, first]);
});

test.each(['tcp://user:secret@192.0.2.1:2375', 'ssh://me@elsewhere', 'unix://relative', 'nonsense'])(
  'uses an engine of this machine if DOCKER_HOST is %s',
  async (address) => {
    const local = await listen('podman/a-api.sock');

    const engine = await new Engines({ ...environment(), DOCKER_HOST: address }, undefined).find();

    expect(engine.socket).toBe(local);
  },
);

test.each(['', '[]', '{"currentContext":7}', '{"currentContext":"missing"}', '{"currentContext":"../x"}'])(
  'finds the usual engine despite the Docker configuration %j',
  async (content) => {
    const local = await listen('podman/a-api.sock');
    await mkdir(join(home, '.docker'));
    await writeFile(join(home, '.docker/config.json'), content);

    const engine = await new Engines(environment(), undefined).find();

    expect(engine.socket).toBe(local);
  },
);

test('waits for an engine that restarts, before another one takes its place', async () => {
  let nowMs = 0;
  const preferred = join(home, 'podman/a-api.sock');
  const other = await listen('podman/b-api.sock');
  const first = await start(preferred);
  const engines = new Engines(environment(), undefined, () => nowMs);
  await engines.find();

  await first[Symbol.asyncDispose]();
  const away = await engines.find().catch((error: unknown) => error);
  const second = await start(preferred);
  const back = await engines.find();
  await second[Symbol.asyncDispose]();
  await expect(engines.find()).rejects.toThrow();
  nowMs += 61_000;
  const replaced = await engines.find();

  expect(away).toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining(preferred),
    hint: expect.stringContaining('start the container engine again'),
  });
  expect(back.socket).toBe(preferred);
  expect(replaced.socket).toBe(other);
});

test('says that the chosen engine is on another machine, without its address', async () => {
  const env = { ...environment(), DOCKER_HOST: 'tcp://user:secret@192.0.2.1:2375' };

  const { chosen, unusable } = await candidateSockets(env);
  const failure = await findEngine([], { unusable }).catch((error: unknown) => error);

  expect(chosen).toBeUndefined();
  expect(failure).toMatchObject({
    kind: 'unavailable',
    message: 'no container engine was found, and the engine of DOCKER_HOST is not on this machine',
  });
});

async function makeContext(name: string, host: string): Promise<void> {
  const directory = join(home, '.docker/contexts/meta', createHash('sha256').update(name).digest('hex'));
  await mkdir(directory, { recursive: true });
  const endpoints = { Endpoints: { docker: { Host: host } } };
  await writeFile(join(directory, 'meta.json'), JSON.stringify({ Name: name, ...endpoints }));
}

/** An engine that listens on this path in the home directory until the end of the test. */
async function listen(path: string): Promise<string> {
  open.use(await start(join(home, path)));
  return join(home, path);
}

async function start(socket: string): Promise<AsyncDisposable> {
  await mkdir(dirname(socket), { recursive: true });
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'api-version': '1.41', connection: 'close' }).end('OK'),
  );
  await once(server.listen(socket), 'listening');
  return { [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}
