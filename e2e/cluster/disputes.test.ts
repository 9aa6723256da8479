import { setTimeout as delay } from 'node:timers/promises';
import { isConflict } from '@toolhive/kubernetes/status';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { expect, test } from 'vitest';
import { describeOperator, server } from './operator-tests.ts';
import { askOperator } from './running-operator.ts';

interface Service extends KubernetesObject {
  spec: { ports: { name: string; port: number }[] };
}

const http = { transport: 'streamable-http', targetPort: 9000 };

describeOperator('another program that repeats its change of a generated object', (world) => {
  const { apply, waitFor, field, condition } = world;

  async function countOf(metric: string, kind: string): Promise<number> {
    const { text } = await askOperator(world.operator, '/metrics');
    return Number(new RegExp(`^${metric}\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  }

  test('is named with the number of its changes by a condition, and counted, until it gives up', async () => {
    const namespace = await world.cluster.namespace();
    await apply(namespace, server('fought', http), server('calm', http));
    await waitFor(namespace, 'mcpserver/fought');
    await waitFor(namespace, 'mcpserver/calm');
    const before = await countOf('toolhive_operator_corrections_total', 'Service');
    const over = new AbortController();
    const fight = async (): Promise<void> => {
      const name = { name: 'mcp-fought-proxy', namespace };
      while (!over.signal.aborted) {
        const live = await world.cluster.client.get<Service>(types.service, name);
        if (live.spec.ports.length === 1) {
          live.spec.ports.push({ name: 'other', port: 9999 });
          await world.cluster.client.replace(types.service, live).catch((error: unknown) => {
            if (!isConflict(error)) throw error;
          });
        }
        await delay(10);
      }
    };
    const fighting = fight();

    await expect
      .poll(() => condition(namespace, 'mcpserver/fought', 'ObjectsAsWanted'), { timeout: 60_000 })
      .toBe('Disputed');
    const message = await field(
      namespace,
      'mcpserver/fought',
      '{.status.conditions[?(@.type=="ObjectsAsWanted")].message}',
    );
    const corrections = (await countOf('toolhive_operator_corrections_total', 'Service')) - before;
    const disputes = await countOf('toolhive_operator_disputes_total', 'Service');
    over.abort();
    await fighting;

    expect(message).toMatch(
      /^\S+ repeatedly changes \S.* of Service mcp-fought-proxy\. The change was reverted \d+ times$/,
    );
    expect(Number(/reverted (\d+) times/.exec(message)?.[1])).toBeGreaterThanOrEqual(20);
    expect(corrections).toBeGreaterThanOrEqual(20);
    expect(disputes).toBeGreaterThanOrEqual(1);
    expect(await condition(namespace, 'mcpserver/calm', 'ObjectsAsWanted')).toBe('');
    await waitFor(namespace, 'mcpserver/fought');
    expect(await field(namespace, 'service/mcp-fought-proxy', '{.spec.ports[*].name}')).toBe('http');
    expect(await condition(namespace, 'mcpserver/fought', 'ObjectsAsWanted')).toBe('');
  });
});
