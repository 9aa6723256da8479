import { expect, test } from 'vitest';
import type { RunConfig } from '@toolhive/contract/run-config';
import { aRunConfig } from '../testing/run-config.ts';
import { checkPublishedPorts } from './published-ports.ts';

type Wing = Parameters<typeof checkPublishedPorts>[0];

const coreWith = (...others: RunConfig[]): Wing =>
  ({ workloads: { all: () => others.map((runConfig) => ({ runConfig })) } }) as unknown as Wing;

const published = (changes: Partial<RunConfig> = {}): RunConfig =>
  aRunConfig({ sessions: 'shared', publish: ['3500', '3000:8080'], ...changes });

test('ports of their own are accepted', () => {
  const other = published({ name: 'other', publish: ['3501', '8080'] });

  expect(() => checkPublishedPorts(coreWith(other, published()), published())).not.toThrow();
});

test.each([
  ['its own proxy port', {}, published({ port: 3500 })],
  ['the proxy port of another workload', { port: 3500 }, published()],
  ['the published port of another workload', { publish: ['3000'] }, published()],
  ['a port published twice', {}, published({ publish: ['3000', '3000:8080'] })],
])('%s is refused', (_name, other, own) => {
  const core = coreWith(aRunConfig({ name: 'other', ...other }));

  expect(() => checkPublishedPorts(core, own)).toThrow(/^local port 3\d00 belongs to /);
});

test.each([
  ['separate sessions', { sessions: 'own' }, /only one process can have a port/],
  ['sessions that may be separate', { sessions: 'own', auto_sessions: true }, /only one process/],
  ['the network of the machine', { permission_profile: { network: { mode: 'host' } } }, /all ports/],
  ['the port of its own endpoint', { transport: 'sse', target_port: 8080 }, /through the proxy/],
  ['no sandbox', { remote_url: 'https://mcp.example' }, /runs in isolation on this machine/],
] as const)('a server with %s publishes no port', (_name, changes, reason) => {
  expect(() => checkPublishedPorts(coreWith(), published(changes))).toThrow(reason);
});
