// @suite faults
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { GatewayProcess } from '../egress/gateway-process.ts';
import type { Instance, Runtime } from '../runtime.ts';
import { type Chaos, chaosTimeoutMs, openChaos } from '../testing/chaos.ts';
import { aLaunch } from '../testing/conformance.ts';
import { TEST_IMAGE } from '../testing/docker-engine.ts';
import { engineSocket } from '../testing/engines.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { TestEgress } from '../testing/test-egress.ts';
import { removeContainer } from './container.ts';
import { openDockerRuntime } from './docker.ts';
import { callEngine, connectEngine } from './engine.ts';
import type { Engine } from './engine.ts';
import { ownedBy } from './ownership.ts';

const socket = await engineSocket('docker');
const source = { kind: 'image', image: TEST_IMAGE } as const;

describe.runIf(socket !== '' && canMakeNetworks)('chaos in containers (as root, with Docker)', () => {
  const resources = new AsyncDisposableStack();
  const gateways = new GatewayProcess();
  const daemonId = `chaos-${process.pid}`;
  let runtime: Runtime;
  let engine: Engine;

  beforeAll(async () => {
    const folder = resources.use(await mkdtempDisposable(join(tmpdir(), 'thv-chaos-')));
    const places = { tempDir: folder.path, recordsDir: folder.path, socket };
    runtime = openDockerRuntime({ daemonId, env: process.env, ...places, gateways });
    engine = await connectEngine(socket);
  });
  afterAll(() => resources.disposeAsync());

  test(
    'ending anything during a start or a stop causes no fault, and leaves no container',
    async () => {
      const chaos = openChaos(4);

      await chaos.rounds(() =>
        Promise.all(Array.from({ length: 1 + chaos.pick(2) }, () => startAndEnd(chaos))),
      );

      // Faults that nothing has caught end the run.
      expect(await containers()).toEqual([]);
    },
    chaosTimeoutMs,
  );

  /** One server, which something ends at a random time. */
  async function startAndEnd(chaos: Chaos): Promise<void> {
    const over = new AbortController();
    const egress = new TestEgress({ hosts: ['api.example'], ports: [443, 2222].slice(chaos.pick(2)) });
    const network = chaos.pick(3) === 0 ? ({ kind: 'none' } as const) : ({ kind: 'rules', egress } as const);
    const workload = `chaos-${crypto.randomUUID().slice(0, 8)}`;
    const starting = runtime
      .start(aLaunch(source, { workload, network }), over.signal)
      .catch((): undefined => undefined);
    const ends: ((instance: Instance | undefined) => unknown)[] = [
      () => over.abort(),
      (instance) => instance?.stdio?.input.destroy(),
      (instance) => instance?.stdio?.output.destroy(),
      (instance) => instance?.stop(chaos.pick(2) * 50),
      async () => {
        const pid = await gateways.pid();
        if (pid !== undefined && chaos.pick(4) === 0) process.kill(pid, 'SIGKILL');
      },
      async () => {
        for (const id of await containers())
          if (chaos.pick(2) === 0) await removeContainer(engine, id).catch(() => {}); // another end was first
      },
      () => egress.change({ ports: [443] }),
    ];
    await delay(chaos.pick(1_200));
    await chaos.oneOf(ends)(undefined);

    const instance = await starting;
    await chaos.oneOf(ends)(instance);
    await delay(chaos.pick(20));
    await chaos.oneOf(ends)(instance);
    await instance?.[Symbol.asyncDispose]();
  }

  async function containers(): Promise<string[]> {
    const call = {
      method: 'GET',
      path: '/containers/json',
      query: { all: 'true', ...ownedBy(daemonId) },
    } as const;
    const found = await callEngine(engine, z.array(z.object({ Id: z.string() })), call);
    return found.map(({ Id }) => Id);
  }
});
