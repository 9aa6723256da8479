import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { RunConfig } from '@toolhive/contract/run-config';
import { expect, test } from 'vitest';
import { aRunConfig } from '../testing/run-config.ts';
import { checkLocalPorts, withLocalPorts } from './local-ports.ts';
import { withChange } from './permissions.ts';

/** The part of the core with the other workloads. */
const coreWith = (...others: Partial<RunConfig>[]) =>
  ({ workloads: { all: () => others.map((changes) => ({ runConfig: aRunConfig(changes) })) } }) as Parameters<
    typeof checkLocalPorts
  >[0];

const open = { network: { outbound: { insecure_allow_all: true } } };

test.each<[string, Partial<RunConfig>, string]>([
  ['a remote server', { remote_url: 'https://a.example/mcp' }, 'only a server that runs in isolation'],
  ['a server of ToolHive', { built_in: 'meta-mcp' }, 'only a server that runs in isolation'],
  [
    'the network of this machine',
    { permission_profile: { network: { mode: 'host' } } },
    'the network mode host',
  ],
  ['unlimited access', { permission_profile: open }, 'unlimited network access'],
  [
    'its own port',
    { transport: 'streamable-http', target_port: 5432 },
    'the server itself listens on port 5432',
  ],
  ['the port of its proxy', { port: 5432 }, 'port 5432 of this machine belongs to ToolHive'],
])('a server with %s has no local ports', async (_what, changes, message) => {
  const runConfig = aRunConfig({ permission_profile: {}, local_ports: [5432], ...changes });

  await expect(checkLocalPorts(coreWith(), runConfig)).rejects.toMatchObject({
    kind: 'invalid',
    message: expect.stringContaining(message),
  });
});

test('the ports of other proxies and of the daemon are no local ports', async () => {
  await using own = createServer().listen(0, '127.0.0.1');
  await once(own, 'listening');
  const { port } = own.address() as AddressInfo;
  const check = (granted: number) =>
    checkLocalPorts(coreWith({ port: 4321 }), aRunConfig({ permission_profile: {}, local_ports: [granted] }));

  await expect(check(port)).rejects.toThrow(`port ${port} of this machine belongs to ToolHive`);
  await expect(check(4321)).rejects.toThrow('port 4321 of this machine belongs to ToolHive');
  await expect(check(4322)).resolves.toBeUndefined();
});

test('each new port needs consent, and a removal none', () => {
  const before = aRunConfig({ permission_profile: {}, local_ports: [5432] });

  expect(() => withLocalPorts(before, { allow_local_ports: [6379] })).toThrow(
    'accepted_risks must contain local-ports: the server reaches the program that listens on port 6379',
  );
  const both = withLocalPorts(before, { allow_local_ports: [6379, 5432], accepted_risks: ['local-ports'] });
  expect(both.local_ports).toEqual([5432, 6379]);
  expect(withLocalPorts(both, { deny_local_ports: [5432, 6379] })).not.toHaveProperty('local_ports');
  expect(() => withLocalPorts(before, { deny_local_ports: [6379] })).toThrow('port 6379 is not a local port');
});

test('a connection to a local port never becomes a rule for a host', () => {
  const seen = {
    verdict: 'allowed' as const,
    count: 1,
    first_at: '',
    last_at: '',
    sent_bytes: 0,
    received_bytes: 0,
  };
  const decisions = [
    { ...seen, host: 'localhost', port: 5432, rule: 'local port 5432' },
    { ...seen, host: 'a.example', port: 443 },
  ];
  const runConfig = aRunConfig({
    permission_profile: { network: { outbound: { allow_port: [80, 443] } } },
    local_ports: [5432],
  });

  const { permission_profile: profile, local_ports: ports } = withChange(
    runConfig,
    { tighten: true },
    decisions,
  );

  expect(profile?.network?.outbound).toEqual({ allow_host: ['a.example'], allow_port: [443] });
  expect(ports).toEqual([5432]);
});
