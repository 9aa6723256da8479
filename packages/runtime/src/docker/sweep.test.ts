import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDockerRuntime } from './docker.ts';

let folder: string;
let open: AsyncDisposableStack;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-sweep-'));
  open = new AsyncDisposableStack();
});
afterEach(async () => {
  await open.disposeAsync();
  await rm(folder, { recursive: true, force: true });
});

test('an engine that cannot be swept is reported, and the others are swept', async () => {
  const [broken, sound] = [join(folder, 'podman.sock'), join(folder, 'docker.sock')];
  await listen(broken, () => ({ status: 500, body: { message: 'disk I/O error' } }));
  const asked = await listen(sound, () => ({ status: 200, body: [] }));
  const failures: unknown[] = [];

  await sweep({ TOOLHIVE_PODMAN_SOCKET: broken, TOOLHIVE_DOCKER_SOCKET: sound }, (fields) =>
    failures.push(fields['socket']),
  );

  expect(failures).toEqual([broken]);
  expect(asked()).toEqual(['containers', 'networks', 'images']);
});

test('what others remove meanwhile is listed again', async () => {
  const socket = join(folder, 'podman.sock');
  const refusals = new Map([
    ['containers', 'container not known'],
    ['networks', 'unable to find network with name or ID 0a1b: network not found'],
    ['images', 'locating image "0a1b" for loading instance list: image not known'],
  ]);
  const asked = await listen(socket, (what) => {
    const message = refusals.get(what);
    refusals.delete(what);
    return message === undefined ? { status: 200, body: [] } : { status: 500, body: { message } };
  });
  const failures: unknown[] = [];

  await sweep({ TOOLHIVE_PODMAN_SOCKET: socket }, (fields) => failures.push(fields));

  expect(failures).toEqual([]);
  expect(asked()).toEqual(['containers', 'containers', 'networks', 'networks', 'images', 'images']);
});

async function sweep(
  env: NodeJS.ProcessEnv,
  log: (fields: Record<string, unknown>) => unknown,
): Promise<void> {
  const runtime = openDockerRuntime({
    daemonId: 'sweeper',
    env,
    tempDir: folder,
    recordsDir: folder,
    log: (_message, fields) => log(fields),
  });
  await runtime.sweep();
}

type Answer = (what: string) => { status: number; body: unknown };

/** An engine that answers lists. The result returns the requested ones. */
async function listen(socket: string, answer: Answer): Promise<() => string[]> {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    if (url === '/_ping') return response.setHeader('api-version', '1.41').end('OK');
    const what = /^\/v1\.41\/(\w+)/.exec(url)?.[1] ?? '';
    asked.push(what);
    const { status, body } = answer(what);
    return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await once(server.listen(socket), 'listening');
  open.defer(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return () => asked;
}
