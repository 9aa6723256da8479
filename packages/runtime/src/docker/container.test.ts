import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitForContainer } from './container.ts';
import type { Engine } from './engine.ts';

// How busy an engine is meanwhile is its own matter, so this tests which call it gets.
test.each([
  ['docker', '/v1.41/containers/one/wait?condition=not-running'],
  ['podman', '/v1.41/libpod/containers/one/wait?interval=100ms'],
] as const)('waits for a container of %s without keeping a processor busy', async (kind, expected) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-waiting-'));
  const socket = join(folder.path, 'engine.sock');
  const asked: unknown[] = [];
  const server = createServer(({ method, url }, response) => {
    asked.push([method, url]);
    response.end('0\n');
  });
  await once(server.listen(socket), 'listening');
  const engine: Engine = { kind, socket, apiVersion: '1.41' };

  await waitForContainer(engine, 'one', 'not-running').finally(() => server.close());

  expect(asked).toEqual([['POST', expected]]);
});
