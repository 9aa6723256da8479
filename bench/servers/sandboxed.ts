import { type ChildProcess, spawn } from 'node:child_process';
import { GatewayNetwork } from '../../packages/runtime/src/egress/gateway-network.ts';
import { GatewayProcess } from '../../packages/runtime/src/egress/gateway-process.ts';
import { findEgressTools } from '../../packages/runtime/src/egress/tools.ts';
import type { OutboundRules } from '../../packages/runtime/src/outbound-rules.ts';
import { TestEgress } from '../../packages/runtime/src/testing/test-egress.ts';

export interface Sandboxed {
  rules: OutboundRules;
  /** The resolvers to ask instead of those of this machine. */
  nameServers?: readonly string[];
}

/** Runs a script in a network namespace whose only route is a new egress gateway. */
export async function runBehindGateway(
  { rules, nameServers }: Sandboxed,
  command: readonly string[],
): Promise<ChildProcess> {
  const tools = await findEgressTools(process.env);
  if ('problem' in tools) throw new Error(tools.problem);
  const gateways = new GatewayNetwork(new GatewayProcess(nameServers === undefined ? {} : { nameServers }));
  const sandbox = await gateways.makeNamespace(tools);
  const egress = new TestEgress();
  await egress.change(rules);
  await gateways.openGateway(tools, sandbox, egress);
  const network = `--net=/proc/${process.pid}/fd/${sandbox.namespace.network}`;
  return spawn(tools.nsenter, [network, '--', process.execPath, ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
