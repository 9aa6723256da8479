import { setTimeout as delay } from 'node:timers/promises';
import { openIdProvider } from '@toolhive/access/testing/openid-provider';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { testPort } from '@toolhive/testing/port';
import { expect, test } from 'vitest';
import { startRunner, startServer } from '../testing/proxy-runner.ts';
import type { Runner } from '../testing/proxy-runner.ts';
import { until } from '../testing/thv.ts';
import { describeOperator, manifest } from './operator-tests.ts';

const probeMs = 300;

interface Pod extends KubernetesObject {
  status: {
    containerStatuses?: { name: string; started?: boolean; ready: boolean }[];
    conditions?: { type: string; status: string }[];
  };
}

describeOperator('a proxy of a remote server', (world) => {
  const condition = (namespace: string, type: string): Promise<string> => {
    const found = `.status.conditions[?(@.type=='${type}')]`;
    return world.field(namespace, 'mcpremoteproxy/far', `{${found}.status} {${found}.reason}`);
  };
  const podOf = async (namespace: string): Promise<Pod> => {
    const labelSelector = 'app.kubernetes.io/instance=far';
    const { items } = await world.cluster.client.list<Pod>(types.pod, { namespace, labelSelector });
    const [pod, ...others] = items;
    if (pod === undefined || others.length > 0) throw new Error(`${items.length} pods`);
    return pod;
  };

  /** Does the work of a kubelet: sends the probes of the pod to the proxy, and reports their results. */
  async function probe(namespace: string, runner: Runner, signal: AbortSignal): Promise<void> {
    let last = '';
    while (!signal.aborted) {
      const [started, ready] = await Promise.all(
        ['/livez', '/health'].map(async (path) => (await runner.health(undefined, path)).status === 200),
      );
      if (last !== `${started} ${ready}`) {
        last = `${started} ${ready}`;
        const { metadata, status } = await podOf(namespace);
        const patch = {
          containerStatuses: status.containerStatuses?.map((each) => ({ ...each, started, ready })),
          conditions: status.conditions?.map((each) =>
            each.type === 'Ready' || each.type === 'ContainersReady'
              ? { ...each, status: ready === true ? 'True' : 'False' }
              : each,
          ),
        };
        const words = [
          'patch',
          'pod',
          metadata.name,
          '-n',
          namespace,
          '--subresource=status',
          '--type=merge',
        ];
        await world.cluster.kubectl([...words, '-p', JSON.stringify({ status: patch })]);
      }
      await delay(probeMs, undefined, { signal }).catch(() => {}); // the loop sees the abort
    }
  }

  test('says whether the server answers, stays while it does not, and recovers', async () => {
    const namespace = await world.cluster.namespace();
    await using provider = await openIdProvider();
    const [remotePort, port] = [await testPort(), await testPort()];
    const spec = {
      remoteURL: `http://127.0.0.1:${remotePort}/mcp`,
      port,
      oidcConfig: {
        type: 'inline',
        inline: {
          issuer: provider.issuer,
          audience: 'far',
          insecureAllowHTTP: true,
          jwksAllowPrivateIP: true,
        },
      },
    };
    await world.apply(namespace, manifest('MCPRemoteProxy', 'far', spec));
    await world.waitFor(namespace, 'mcpremoteproxy/far');
    const runConfig = await world.runConfig(namespace, 'far');
    await using runner = await startRunner({ ...runConfig, image: undefined });
    const over = new AbortController();
    const probing = probe(namespace, runner, over.signal);
    await using _probing = {
      async [Symbol.asyncDispose]() {
        over.abort();
        await probing;
      },
    };
    const { metadata: pod } = await podOf(namespace);

    await expect.poll(() => condition(namespace, 'RemoteAvailable')).toBe('False RemoteUnavailable');
    expect(await condition(namespace, 'Ready')).toMatch(/^False/);
    {
      await using _remote = startServer(remotePort);
      await expect.poll(() => condition(namespace, 'RemoteAvailable')).toBe('True RemoteAnswers');
      await until(async () => (await condition(namespace, 'Ready')).startsWith('True'));
    }
    await expect
      .poll(() => condition(namespace, 'RemoteAvailable'), { timeout: 60_000 })
      .toBe('False RemoteUnavailable');
    expect((await podOf(namespace)).metadata.uid).toBe(pod.uid);
    expect(await world.field(namespace, 'deployment/far', '{.spec.template.spec.containers[0].name}')).toBe(
      'toolhive',
    );
    expect(runner.child.exitCode).toBeNull();
    await expect
      .poll(() => runner.health().then(({ body }) => JSON.parse(body) as object))
      .toMatchObject({ mcp: { available: false, error: expect.any(String) as string } });

    await using _again = startServer(remotePort);
    await expect
      .poll(() => condition(namespace, 'RemoteAvailable'), { timeout: 60_000 })
      .toBe('True RemoteAnswers');
    expect((await podOf(namespace)).metadata.uid).toBe(pod.uid);
  });
});
