import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { typeNamed } from './object-kinds.ts';
import { objectsOf, server } from './operator-tests.ts';
import { describeCluster } from './registered.ts';
import { askOperator, startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

const namespaces = 50;
/** By default, one server for each namespace. */
const servers = Number(process.env['SCALE_SERVERS'] ?? namespaces);
/** One server of so many has a secret, which the operator reads again and again. */
const withSecret = 10;
const windowMs = servers > 1_000 ? 120_000 : 20_000;
const settleMs = 60_000 + servers * 500;
/** A list of thousands of objects keeps the API server busy for a while. */
const pollMs = servers > 1_000 ? 20_000 : 2_000;
const maxRequestsPerSecond = 3;
const maxMemoryMiB = 400;

describeCluster('an operator for many namespaces', () => {
  let cluster: ControlPlane;
  beforeAll(async () => {
    cluster = await startControlPlane();
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test(
    `asks little and needs little memory for ${servers} idle servers in ${namespaces} namespaces`,
    { timeout: 2 * settleMs + windowMs },
    async () => {
      const names: string[] = [];
      while (names.length < namespaces) names.push(await cluster.namespace());
      const env = { WATCH_NAMESPACE: names.join() };
      const start = (): Promise<RunningOperator> => startOperator(cluster, { env, args: ['--leader-elect'] });
      let operator = await start();
      await using _latest = { [Symbol.asyncDispose]: () => operator[Symbol.asyncDispose]() };
      await operator.says('settled');
      for (const [index, namespace] of names.entries())
        await objectsOf(() => cluster).apply(namespace, ...manifestsOf(index));
      const ready = async (): Promise<number> => {
        // An overloaded API server answers too late for the lease, and in a cluster the operator starts again.
        if (operator.child.exitCode !== null) operator = await start();
        return readyIn(cluster);
      };
      await expect.poll(ready, { timeout: settleMs, interval: pollMs }).toBe(servers);
      const peakMiB = await memoryOf(operator, 'VmHWM');

      const before = await requestsOf(operator);
      await delay(windowMs);
      const requests = (await requestsOf(operator)) - before;

      const perSecond = requests / (windowMs / 1000);
      const residentMiB = await memoryOf(operator, 'VmRSS');
      const report = process.env['SCALE_REPORT'];
      if (report !== undefined)
        await writeFile(report, `${JSON.stringify({ servers, perSecond, residentMiB, peakMiB })}\n`);
      expect(perSecond).toBeLessThanOrEqual(maxRequestsPerSecond);
      expect(residentMiB).toBeLessThanOrEqual(maxMemoryMiB);
    },
  );
});

/** The servers of one namespace, of all transports, and their Secret. */
function manifestsOf(namespace: number): string[] {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'login' }, stringData: { key: 'a' } };
  const numbers = Array.from({ length: servers }, (_, number) => number).filter(
    (number) => number % namespaces === namespace,
  );
  const manifests = numbers.map((number) => {
    const isStdio = (number + Math.floor(number / namespaces)) % 5 === 0;
    return server(`server-${number}`, {
      ...(isStdio ? {} : { transport: 'streamable-http', targetPort: 8080 }),
      ...(number % withSecret === 1 ? { secrets: [{ name: 'login', key: 'key' }] } : {}),
    });
  });
  return [JSON.stringify(secret), ...manifests];
}

interface Server extends KubernetesObject {
  status?: { conditions?: { type: string; status: string }[] };
}

async function readyIn({ client }: ControlPlane): Promise<number> {
  const { items } = await client.list<Server>(typeNamed('mcpservers')!); // all namespaces
  return items.filter(({ status }) =>
    status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
  ).length;
}

/** All requests of an operator to the API server so far, also those for its Lease. */
async function requestsOf(operator: RunningOperator): Promise<number> {
  const { text } = await askOperator(operator, '/metrics');
  const counts = text.matchAll(/^rest_client_requests_total\{[^}]*\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

async function memoryOf({ child }: RunningOperator, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
}
