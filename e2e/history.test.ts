import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { apiClient } from '@toolhive/api/testing/api-client';
import type { HistoryGrouping } from '@toolhive/contract/history';
import { canMakeNetworks } from '@toolhive/runtime/testing/stand-in-hosts';
import { openWebHosts } from '@toolhive/runtime/testing/web-hosts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { makeUser, serve, testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// What a real server in the sandbox did, as a daemon tells it, and the next daemon after it.

/** Runs as a program of the server: connects to each place, and ends when all connections have ended. */
const connect = `
  const { connect } = require('net');
  for (const [host, port] of JSON.parse(process.argv[1])) {
    const socket = connect({ host, port });
    socket.on('data', () => socket.destroy()).on('error', () => {});
    socket.write('GET / HTTP/1.1\\r\\nHost: ' + host + '\\r\\n\\r\\n');
  }
`;

describe.runIf(canMakeNetworks)('the history of a server in the sandbox (as root, with iproute2)', () => {
  let user: User;
  let hosts: Awaited<ReturnType<typeof openWebHosts>>;
  beforeAll(async () => {
    hosts = await openWebHosts(2);
    user = await makeUser();
  });
  afterAll(async () => {
    await user?.[Symbol.asyncDispose]();
    await hosts?.[Symbol.asyncDispose]();
  });

  test('has its tools, its clients, and its hosts, and continues after a restart of the daemon', async () => {
    const [known = '', unknown = ''] = hosts.far;
    const profile = join(user.home, 'profile.json');
    const outbound = { allow_host: [known], allow_port: [80] };
    await writeFile(profile, JSON.stringify({ network: { outbound } }));
    const named = { params: { name: 'busy' } };
    let totals: unknown;
    {
      await using daemon = await serve(user);
      const client = apiClient(daemon);
      const read = async (by: HistoryGrouping) =>
        (await client.getHistory({ query: { by, workload: 'busy' } })).series;
      const flags = ['--name', 'busy', '--permission-profile', profile];
      await user.mustThv('run', testServer, ...flags, '--', 'echo');
      const { workloads } = await client.listWorkloads({ query: {} });
      await using mcp = await connectTo(workloads[0]?.url ?? '');
      await mcp.call('echo', { message: 'hello' });
      await mcp.call('echo', { message: 'hello' });
      await mcp.call('execute', {
        command: '/opt/toolhive/bin/node',
        args: [
          '-e',
          connect,
          JSON.stringify([
            [known, 80],
            [unknown, 80],
          ]),
        ],
      });

      await expect
        .poll(() => read('host'), { timeout: 20_000 })
        .toEqual(
          expect.arrayContaining([
            expect.objectContaining({ workload: 'busy', name: known, calls: 1, denied: 0 }),
            expect.objectContaining({ workload: 'busy', name: unknown, calls: 0, denied: 1 }),
          ]),
        );
      const tools = await read('tool');
      expect(tools).toMatchObject([
        { name: 'echo', calls: 2, errors: 0, points: { calls: expect.any(Array) as number[] } },
        { name: 'execute', calls: 1 },
      ]);
      expect(tools[0]?.p50_ms).toBeGreaterThan(0);
      const [ofClient, ...others] = await read('client');
      expect(others).toEqual([]);
      expect(ofClient?.name).toBeTruthy();
      [totals] = await read('workload');
      expect(totals).toMatchObject({ calls: ofClient?.calls, denied_connections: 1 });
    }
    await using daemon = await serve(user);
    const client = apiClient(daemon);

    const found = await client.listTraffic({ ...named, query: { item: 'echo' } });
    const { series } = await client.getHistory({ query: { workload: 'busy', totals: 'true' } });
    await client.deleteWorkload(named, { onProgress: () => {} });
    const after = await client.getHistory({ query: {} });

    expect(found.entries.length).toBe(2);
    const { calls, errors } = totals as { calls: number; errors: number };
    expect(series).toMatchObject([{ calls, errors, denied_connections: 1 }]);
    expect(after.series).toEqual([]);
  });
});
