import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { ResourceType } from '@toolhive/kubernetes/object';
import { startControlPlane, whyNoControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { buildOperator, operatorFlags } from '../../scripts/build-operator.ts';
import type { Figure } from '../measurement.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const servers = 1_000;
const groupMembers = 500;
const atOnce = 20;
const program = new URL('../../apps/operator/dist/operator.js', import.meta.url).pathname;
const apiVersion = 'toolhive.stacklok.dev/v1alpha1';
const mcpServer: ResourceType = { apiVersion, kind: 'MCPServer', plural: 'mcpservers' };
const mcpGroup: ResourceType = { apiVersion, kind: 'MCPGroup', plural: 'mcpgroups' };

/** The operator with many servers in a real control plane: its memory, and the time of passes over all of them. */
export async function operator({ signal, note }: BenchmarkContext): Promise<Figure[]> {
  const reason = whyNoControlPlane();
  if (reason !== undefined) {
    note(`SKIPPED: the operator, because ${reason}`);
    return [];
  }
  await buildOperator();
  await using cluster = await startControlPlane();
  const namespace = await cluster.namespace();
  await createServers(cluster, namespace, signal);
  const listing = await secondsOf(() => cluster.client.list(mcpServer, { namespace, signal }));

  const before = (await cluster.writes()).length;
  const first = await settle(cluster, signal);
  const writes = (await cluster.writes())
    .slice(before)
    .filter(({ userAgent }) => userAgent === 'toolhive-operator').length;
  const second = await settle(cluster, signal);
  return [
    {
      what: `pass that creates ${servers} servers`,
      unit: 's',
      ours: first.seconds,
      comparison: 'itself',
      budget: 60,
    },
    {
      what: 'writes for each created server',
      unit: '',
      ours: writes / servers,
      comparison: 'itself',
      budget: 12,
    },
    {
      what: `pass over a group with ${groupMembers} members`,
      unit: 'ms',
      ours: second.groupMilliseconds,
      comparison: 'itself',
      budget: 50,
    },
    {
      what: `pass over ${servers} servers`,
      unit: 's',
      ours: second.seconds,
      reference: listing,
      comparison: 'itself',
      budget: 60,
    },
    {
      what: `memory after creating ${servers} servers`,
      unit: 'MB',
      ours: first.megabytes,
      comparison: 'itself',
      budget: 200,
    },
    {
      what: `memory with ${servers} servers`,
      unit: 'MB',
      ours: second.megabytes,
      comparison: 'itself',
      budget: 200,
    },
  ];
}

async function createServers(
  { client }: ControlPlane,
  namespace: string,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion: version, kind } = mcpGroup;
  await client.create(mcpGroup, { apiVersion: version, kind, metadata: { name: 'team', namespace } }, signal);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < servers) {
      const group = next < groupMembers ? { groupRef: 'team' } : {};
      const name = `server-${next++}`;
      await client.create(
        mcpServer,
        {
          apiVersion: mcpServer.apiVersion,
          kind: mcpServer.kind,
          metadata: { name, namespace },
          spec: { image: 'example/server:1', transport: 'streamable-http', targetPort: 9000, ...group },
        },
        signal,
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** Starts an operator, waits for the end of the first pass over all objects, and ends the operator. */
async function settle(
  cluster: ControlPlane,
  signal: AbortSignal,
): Promise<{ seconds: number; megabytes: number; groupMilliseconds: number }> {
  const child = spawn(
    process.execPath,
    [
      ...operatorFlags,
      program,
      '--metrics-bind-address=127.0.0.1:0',
      '--health-probe-bind-address=127.0.0.1:0',
    ],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, KUBECONFIG: cluster.kubeconfig, POD_NAMESPACE: 'default' },
      signal,
    },
  );
  const exited = once(child, 'exit');
  try {
    let megabytes = 0;
    let metricsPort = 0;
    const seconds = await secondsOf(async () => {
      for await (const line of createInterface({ input: child.stdout })) {
        if (line.includes('"listening"')) ({ metricsPort } = JSON.parse(line) as { metricsPort: number });
        if (line.includes('"settled"')) break;
      }
      megabytes = await residentMegabytes(child.pid ?? 0);
    });
    return { seconds, megabytes, groupMilliseconds: await groupMilliseconds(metricsPort) };
  } finally {
    child.kill();
    await exited;
  }
}

/** The mean time of a pass over a group. */
async function groupMilliseconds(metricsPort: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const [sum = 0, count = 0] = ['sum', 'count'].map((part) =>
    Number(new RegExp(`reconcile_time_seconds_${part}\\{controller="mcpgroup"\\} (\\S+)`).exec(text)?.[1]),
  );
  return (sum / count) * 1_000;
}

async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1_024) / 1_000_000;
}

async function secondsOf(action: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await action();
  return (performance.now() - startedAt) / 1_000;
}
