// A daemon's part of two workloads: one that is measured, and one whose server downloads through its egress gateway as
// fast as it can: `node downloading.ts gateway ADDRESS`. With `url URL`, the server downloads without a gateway, and with
// `nothing`, not at all.
import { type ChildProcess, spawn } from 'node:child_process';
import { GatewayNetwork } from '../../packages/runtime/src/egress/gateway-network.ts';
import { GatewayProcess } from '../../packages/runtime/src/egress/gateway-process.ts';
import { findEgressTools } from '../../packages/runtime/src/egress/tools.ts';
import { TestEgress } from '../../packages/runtime/src/testing/test-egress.ts';
import { serveParent } from '../child.ts';
import { openProxy } from './open-proxy.ts';
import { startStdio } from './stdio-instance.ts';

const [kind = 'nothing', where = ''] = process.argv.slice(2);
const { proxy, port } = await openProxy('stdio');
const other = (): Promise<never> => Promise.reject(new Error('all clients share one'));
const { instance } = startStdio(new URL('./stdio-echo.ts', import.meta.url));
await proxy.connect(instance, other, new AbortController().signal);
const script = new URL('./egress-client.ts', import.meta.url).pathname;
const command = (url: string): string[] => [script, url, 'stream', '1000000'];

async function throughGateway(address: string): Promise<ChildProcess> {
  const tools = await findEgressTools(process.env);
  if ('problem' in tools) throw new Error(tools.problem);
  const gateways = new GatewayNetwork(new GatewayProcess());
  const sandbox = await gateways.makeNamespace(tools);
  const egress = new TestEgress();
  await egress.change({ hosts: [address], ports: [80] });
  await gateways.openGateway(tools, sandbox, egress);
  const entering = [`--net=/proc/${process.pid}/fd/${sandbox.namespace.network}`, '--', process.execPath];
  return spawn(tools.nsenter, [...entering, ...command(`http://${address}`)], { stdio: 'ignore' });
}

async function startDownload(): Promise<ChildProcess | undefined> {
  if (kind === 'gateway') return throughGateway(where);
  return kind === 'url' ? spawn(process.execPath, command(where), { stdio: 'ignore' }) : undefined;
}

const client = await startDownload();
serveParent({ port }, async () => void client?.kill('SIGKILL'));
