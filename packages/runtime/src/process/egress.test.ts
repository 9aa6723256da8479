// @suite system
import { spawnSync } from 'node:child_process';
import { describe } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { GatewayProcess } from '../egress/gateway-process.ts';
import { findProgram } from '../programs.ts';
import { describeNetworkRules, killProcessOf } from '../testing/network-rules.ts';
import { canMakeNetworks } from '../testing/stand-in-hosts.ts';
import { openRig } from './test-rig.ts';

const ifWorking = (program: string): string =>
  spawnSync(program, ['--version']).status === 0 ? program : '';

describe.runIf(canMakeNetworks)('network rules in the sandbox (as root, with iproute2)', async () => {
  const programs = {
    node: '/opt/toolhive/bin/node',
    python: ifWorking('/usr/bin/python3'),
    curl: ifWorking('curl'),
    ip: (await findProgram('ip', { PATH: '/usr/sbin:/usr/bin' })) ?? '',
  };
  proves('security.network.rules');
  describeNetworkRules(programs, async (nameServer) => {
    const gateways = new GatewayProcess({ nameServers: [nameServer] });
    const rig = await openRig({ gateways });
    return {
      runtime: rig.runtime,
      killGateways: () => killProcessOf(gateways),
      source: await rig.prepared(),
      [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
    };
  });
});
