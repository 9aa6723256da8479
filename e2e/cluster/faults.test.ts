import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFaultProxy } from './fault-proxy.ts';
import type { Fault, FaultProxy } from './fault-proxy.ts';
import { grantPermissions, operatorAccount, revokePermissions } from './operator-account.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';
import { sampleServers } from './sample-server.ts';
import type { SampleServers } from './sample-server.ts';

const faults: [string, Fault][] = [
  ['answers 410', { kind: 'answer', code: 410 }],
  ['answers 429 with Retry-After', { kind: 'answer', code: 429, headers: { 'retry-after': '1' } }],
  ['answers 500', { kind: 'answer', code: 500 }],
  ['answers 503', { kind: 'answer', code: 503 }],
  ['dropped connections', { kind: 'drop' }],
  ['half-open connections', { kind: 'silence' }],
  ['watches that end within an event', { kind: 'cut' }],
];

describeCluster('an operator with faults', () => {
  let cluster: ControlPlane;
  let proxy: FaultProxy;
  let servers: SampleServers;
  let operator: RunningOperator;

  beforeAll(async () => {
    cluster = await startControlPlane();
    proxy = await startFaultProxy(cluster);
    servers = sampleServers(cluster, await cluster.namespace());
    await grantPermissions(cluster);
    const { path: kubeconfig } = await operatorAccount(cluster, proxy.url);
    operator = await startOperator(cluster, { kubeconfig });
    await operator.says('settled');
  });
  afterAll(async () => {
    await operator[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  test.each(faults)('a change during %s takes effect afterwards', async (_name, fault) => {
    const name = `during-${faults.findIndex(([, other]) => other === fault)}`;
    await servers.write(name, 'example/server:1');
    await servers.follows(name, 'example/server:1');

    proxy.start(fault);
    await servers.write(name, 'example/server:2');
    await expect.poll(() => proxy.affected).toBeGreaterThan(2);
    expect(await servers.state(name)).toBe('example/server:1 unseen');
    proxy.end();

    await servers.follows(name, 'example/server:2');
  });

  test('a change after a crash of the API server takes effect', async () => {
    await servers.write('restarted', 'example/server:1');
    await servers.follows('restarted', 'example/server:1');

    await cluster.restart('kube-apiserver');
    await expect
      .poll(() => servers.write('restarted', 'example/server:2').then(() => 'written', String))
      .toBe('written');

    await servers.follows('restarted', 'example/server:2');
  });

  test('a change whose history etcd no longer has takes effect', async () => {
    await servers.write('compacted', 'example/server:1');
    await servers.follows('compacted', 'example/server:1');

    proxy.start({ kind: 'drop' });
    await servers.write('compacted', 'example/server:2');
    await cluster.compact();
    await cluster.restart('kube-apiserver'); // its cache would still know the history
    const count = operator.lines.length;
    proxy.end();

    await servers.follows('compacted', 'example/server:2');
    const answers = operator.lines.slice(count).filter((line) => line.includes('"kind":"MCPServer"'));
    expect(answers.join('\n')).toContain('"code":410,"reason":"Expired"');
  });

  test('a change without permissions takes effect when they are back', async () => {
    await servers.write('refused', 'example/server:1');
    await servers.follows('refused', 'example/server:1');

    const count = operator.lines.length;
    await revokePermissions(cluster);
    await servers.write('refused', 'example/server:2');
    await expect.poll(() => operator.lines.slice(count).join('\n')).toContain('is forbidden');
    expect(await servers.state('refused')).toBe('example/server:1 unseen');
    await grantPermissions(cluster);

    await servers.follows('refused', 'example/server:2');
  });

  test('SIGTERM ends an operator within 10 seconds, even if no connection has an answer', async () => {
    proxy.start({ kind: 'silence' });
    await servers.write('refused', 'example/server:3');
    await expect.poll(() => proxy.affected).toBeGreaterThan(0);
    const startedAt = performance.now();

    expect(await operator.stop()).toBe(0);

    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
