// A daemon's part of two workloads: one that is measured, and one whose server downloads through its egress gateway as
// fast as it can: `node downloading.ts ADDRESS`. Without an address, nothing is downloaded.
import { type ChildProcess, spawn } from 'node:child_process';
import { EgressGateway } from '../../packages/runtime/src/egress/gateway.ts';
import { EgressNamespace } from '../../packages/runtime/src/egress/namespace.ts';
import { findEgressTools } from '../../packages/runtime/src/egress/tools.ts';
import { Rules } from '../../packages/runtime/src/outbound-rules.ts';
import { serveParent } from '../child.ts';
import { openProxy } from './open-proxy.ts';
import { startStdio } from './stdio-instance.ts';

const [address = ''] = process.argv.slice(2);
const { proxy, port } = await openProxy('stdio');
const other = (): Promise<never> => Promise.reject(new Error('all clients share one'));
const { instance } = startStdio(new URL('./stdio-echo.ts', import.meta.url));
await proxy.connect(instance, other, new AbortController().signal);
const client = address === '' ? undefined : await download();

async function download(): Promise<ChildProcess> {
  const tools = await findEgressTools(process.env);
  if ('problem' in tools) throw new Error(tools.problem);
  const namespace = await EgressNamespace.open(tools, []);
  const rules = new Rules({ hosts: [address], ports: [80] });
  const refuse = () => Promise.reject(new Error('no name is needed'));
  void new EgressGateway(namespace.sockets, { rules, record: () => undefined }, refuse);
  const script = new URL('./egress-client.ts', import.meta.url).pathname;
  const command = [process.execPath, script, `http://${address}`, 'stream', '1000000'];
  const entering = [`--net=/proc/${process.pid}/fd/${namespace.network}`, '--'];
  return spawn(tools.nsenter, [...entering, ...command], { stdio: 'ignore' });
}

serveParent({ port }, async () => void client?.kill('SIGKILL'));
