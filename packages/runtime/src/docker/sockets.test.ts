import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { candidateSockets, findEngine } from './sockets.ts';

let home: string;
let open: AsyncDisposableStack;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'thv-sockets-'));
  open = new AsyncDisposableStack();
});
afterEach(async () => {
  await open.disposeAsync();
  await rm(home, { recursive: true, force: true });
});

test('takes the sockets that the environment names, and looks at no other', async () => {
  const env = { HOME: home, TOOLHIVE_COLIMA_SOCKET: '/c.sock', TOOLHIVE_PODMAN_SOCKET: '/p.sock' };

  await expect(candidateSockets(env)).resolves.toEqual({ chosen: undefined, others: ['/p.sock', '/c.sock'] });
});

test('prefers Podman to Docker and Docker to Colima, of what is there', async () => {
  const places = ['.colima/default/docker.sock', '.docker/run/docker.sock', 'run/podman/podman.sock'];
  for (const place of places) await listen(join(home, place), {});
  const env = { HOME: home, XDG_RUNTIME_DIR: join(home, 'run'), TMPDIR: home };

  const found = await candidateSockets(env);

  const ours = found.others
    .filter((path) => path.startsWith(home))
    .map((path) => path.slice(home.length + 1));
  expect(ours).toEqual([...places].toReversed());
});

test('knows the pipes of Windows', async () => {
  const found = await candidateSockets({ HOME: home }, 'win32');

  expect(found.others).toEqual(['\\\\.\\pipe\\podman-api', '\\\\.\\pipe\\docker_engine']);
});

test('takes the first engine that answers, and speaks no newer revision than both know', async () => {
  const socket = join(home, 'docker.sock');
  await listen(socket, { 'api-version': '1.99' });

  const engine = await findEngine([join(home, 'nobody.sock'), socket]);

  expect(engine).toEqual({ kind: 'docker', socket, apiVersion: '1.47' });
});

test('tells Podman by what it answers, not by where it listens', async () => {
  const socket = join(home, 'docker.sock');
  await listen(socket, { 'api-version': '1.41', 'libpod-api-version': '4.3.1' });

  const engine = await findEngine([socket]);

  expect(engine).toEqual({ kind: 'podman', socket, apiVersion: '1.41', podmanVersion: '4.3.1' });
});

test('does not take just any server for an engine', async () => {
  const socket = join(home, 'web.sock');
  await listen(socket, {});

  await expect(findEngine([socket])).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('is not a container engine'),
  });
});

test('says how to get an engine when there is none', async () => {
  await expect(findEngine([])).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'no container engine was found',
    hint: 'start Docker, Podman, or Colima, or set the path of its socket in TOOLHIVE_PODMAN_SOCKET, TOOLHIVE_DOCKER_SOCKET, TOOLHIVE_COLIMA_SOCKET',
  });
});

test.skipIf(process.getuid?.() !== 0)(
  'says how to be let in when the socket is closed to this user',
  async () => {
    const socket = join(home, 'docker.sock');
    await listen(socket, { 'api-version': '1.41' });
    await chmod(socket, 0o600);
    await chmod(home, 0o755);

    // Root is let in everywhere, so root has to stop being root for a moment.
    process.seteuid?.(65534);
    const finding = findEngine(['/nobody.sock', socket]).catch((error: unknown) => error);
    const failure = await finding.finally(() => process.seteuid?.(0));

    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: `this user does not have access to the container engine at ${socket}`,
      hint: expect.stringContaining('add the user to the group that owns the socket'),
    });
  },
);

async function listen(socket: string, headers: Record<string, string>): Promise<void> {
  await mkdir(dirname(socket), { recursive: true });
  const server = createServer((_request, response) => response.writeHead(200, headers).end('OK'));
  await once(server.listen(socket), 'listening');
  open.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
}
