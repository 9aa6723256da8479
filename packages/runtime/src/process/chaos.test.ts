// @suite faults
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { GatewayProcess } from '../egress/gateway-process.ts';
import type { Instance } from '../runtime.ts';
import { type Chaos, chaosTimeoutMs, openChaos } from '../testing/chaos.ts';
import { aLaunch } from '../testing/conformance.ts';
import { childrenOf } from '../testing/processes.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { TestEgress } from '../testing/test-egress.ts';
import { type ProcessRig, openRig } from './test-rig.ts';

describe.runIf(canMakeNetworks)('chaos in the sandbox (as root, with iproute2)', () => {
  let rig: ProcessRig;
  const gateways = new GatewayProcess();

  beforeAll(async () => {
    rig = await openRig({ gateways });
    await rig.prepared();
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  test(
    'ending anything during a start or a stop causes no fault, and leaves nothing',
    async () => {
      proves('security.network.contained');
      const chaos = openChaos(20);

      await chaos.rounds(() =>
        Promise.all(Array.from({ length: 1 + chaos.pick(3) }, () => startAndEnd(chaos))),
      );

      // Faults that nothing has caught end the run.
      expect(childrenOf(process.pid, 'bwrap')).toEqual([]);
    },
    chaosTimeoutMs,
  );

  /** One server, which something ends at a random time. */
  async function startAndEnd(chaos: Chaos): Promise<void> {
    const over = new AbortController();
    const egress = new TestEgress({ hosts: ['api.example'], ports: [443, 2222].slice(chaos.pick(2)) });
    const network = chaos.pick(3) === 0 ? ({ kind: 'none' } as const) : ({ kind: 'rules', egress } as const);
    const workload = `chaos-${crypto.randomUUID().slice(0, 8)}`;
    const starting = rig.runtime
      .start(aLaunch(await rig.prepared(), { workload, network }), over.signal)
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
      () => {
        for (const pid of childrenOf(process.pid, 'bwrap'))
          if (chaos.pick(2) === 0) process.kill(pid, 'SIGKILL');
      },
      () => egress.change({ ports: [443] }),
    ];
    await delay(chaos.pick(120));
    await chaos.oneOf(ends)(undefined);

    const instance = await starting;
    await chaos.oneOf(ends)(instance);
    await delay(chaos.pick(20));
    await chaos.oneOf(ends)(instance);
    await instance?.[Symbol.asyncDispose]();
  }
});
