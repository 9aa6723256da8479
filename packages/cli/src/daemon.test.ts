// @suite system
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { makeHome } from '@toolhive/core/testing';
import { canMount, mountSmallDisk } from '@toolhive/core/testing/small-disk';
import { afterEach, expect, test, vi } from 'vitest';
import { statePaths } from '@toolhive/state/paths';
import { connectToDaemon } from './daemon.ts';

afterEach(() => vi.unstubAllEnvs());

test.runIf(canMount).each([
  ['on a read-only disk', 'toolhive'],
  ['for the first time on a read-only disk', ''],
])('a start in the background %s names the problem, the path, and the fix', async (_title, existing) => {
  await using home = await makeHome();
  const state = join(home.path, 'state');
  await using disk = await mountSmallDisk(state);
  await mkdir(join(state, existing), { recursive: true });
  await disk.setReadOnly(true);
  vi.stubEnv('XDG_STATE_HOME', state);

  const connecting = connectToDaemon({
    note: () => {},
    signal: AbortSignal.timeout(20_000),
    debug: false,
  });

  await expect(connecting).rejects.toMatchObject({
    kind: 'unavailable',
    message: `cannot write ${join(state, 'toolhive/hive.log')}: the file system is read-only`,
    hint: 'make it writable, then try again',
  });
});

test('a read is repeated if the daemon ends before its first answer, and a change or a later read is not', async () => {
  await using home = await makeHome();
  const state = join(home.path, 'state');
  vi.stubEnv('XDG_STATE_HOME', state);
  const { socket } = statePaths(process.env);
  await mkdir(dirname(socket), { recursive: true, mode: 0o700 });
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.method);
    if (asked.length !== 3) request.socket.destroy();
    else response.setHeader('content-type', 'application/json').end('{"groups":[]}');
  });
  server.listen(socket);
  await once(server, 'listening');
  const client = await connectToDaemon({ note: () => {}, signal: AbortSignal.timeout(20_000), debug: false });

  const { groups } = await client.listGroups({});
  const change = client.createGroup({ body: { name: 'one' } });

  const ended = { message: 'the daemon ended during the request' };
  await expect(change).rejects.toMatchObject(ended);
  await expect(client.listGroups({})).rejects.toMatchObject(ended);
  expect(groups).toEqual([]);
  expect(asked).toEqual(['GET', 'GET', 'GET', 'POST', 'GET']);
  server.close();
});
