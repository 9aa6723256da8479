// @suite system (in depth)
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aLaunch, testLimits } from '../testing/conformance.ts';
import { Conversation } from '../testing/talk.ts';
import { type Instance, type Launch, describeExit } from '../runtime.ts';
import { inspectMachine } from './check.ts';
import { GatewayNetwork, type SandboxNamespace } from '../egress/gateway-network.ts';
import { GatewayProcess } from '../egress/gateway-process.ts';
import { PreparedNetworks } from '../egress/prepared-networks.ts';
import { ProcessHomes } from './homes.ts';
import { startInstance } from './start.ts';
import { type ProcessRig, never, openRig } from './test-rig.ts';

describe('on a machine without writable control groups', () => {
  let rig: ProcessRig;

  beforeAll(async () => {
    rig = await openRig();
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  async function startUnlimited(changes: Partial<Launch>): Promise<Instance> {
    const gateways = new GatewayNetwork(new GatewayProcess());
    const inspection = await inspectMachine(rig.options.env, gateways, never);
    if ('problem' in inspection) throw new Error(inspection.problem);
    const launch = aLaunch(await rig.prepared(), changes);
    if (launch.source.kind !== 'package') throw new Error('not a package');
    const installed = await rig.store().require(launch.source);
    const machine = { ...inspection.machine, cgroups: {}, countsProcesses: false };
    const homes = new ProcessHomes(rig.options.homesDir);
    const namespaces = new PreparedNetworks<SandboxNamespace>();
    const place = rig.options;
    return startInstance({
      machine,
      launch,
      installed,
      place,
      homes,
      gateways,
      namespaces,
      signal: never,
    });
  }

  test('a server that uses too much memory is ended', async () => {
    const limits = { ...testLimits, memoryBytes: 192 * 1024 * 1024 };
    await using instance = await startUnlimited({ limits });

    converse(instance).send('allocate', { mebibytes: 300 });

    expect(describeExit(await instance.exited)).toBe(
      'used more than 192 MiB of memory; allow more with --memory',
    );
  });

  test('a server that starts too many processes is ended', async () => {
    const limits = { ...testLimits, processes: 32 };
    await using instance = await startUnlimited({ limits });

    converse(instance).send('processes', { count: 100 });

    expect(describeExit(await instance.exited)).toBe(
      'started more than 32 processes and threads; allow more with --pids',
    );
  });
});

function converse({ stdio }: Instance): Conversation {
  if (stdio === undefined) throw new Error('the instance speaks no stdio');
  return new Conversation(stdio);
}
