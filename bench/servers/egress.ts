// The way of one server to a host: `node egress.ts gateway|pipe ADDRESS [COUNT]`. A gateway is what the daemon has for each
// server with network rules, a pipe the least that could be there instead. Says how a client gets to the host.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { GatewayNetwork } from '../../packages/runtime/src/egress/gateway-network.ts';
import { GatewayProcess } from '../../packages/runtime/src/egress/gateway-process.ts';
import { findEgressTools } from '../../packages/runtime/src/egress/tools.ts';
import { TestEgress } from '../../packages/runtime/src/testing/test-egress.ts';
import { serveParent } from '../child.ts';

/** The information that a client needs to reach the host. */
export interface Way {
  /** Paths of the network namespaces for clients. Empty for the current namespace. */
  namespaces: readonly string[];
  url: string;
  /** The process of the gateways. */
  gatewayPid?: number | undefined;
}

const [kind = '', address = '', count = '1'] = process.argv.slice(2);

async function pipe(): Promise<Way> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (inner) => {
    const outer = connect({ host: address, port: 80, allowHalfOpen: true });
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy());
    inner.pipe(outer).pipe(inner);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo; // listens on a port
  return { namespaces: [], url: `http://127.0.0.1:${port}` };
}

async function gateways(): Promise<Way> {
  const tools = await findEgressTools(process.env);
  if ('problem' in tools) throw new Error(tools.problem);
  const namespaces: string[] = [];
  const gatewayProcess = new GatewayProcess();
  const network = new GatewayNetwork(gatewayProcess);
  for (let made = 0; made < Number(count); made++) {
    const sandbox = await network.makeNamespace(tools);
    const egress = new TestEgress();
    await egress.change({ hosts: [address], ports: [80] });
    await network.openGateway(tools, sandbox, egress);
    namespaces.push(`/proc/${process.pid}/fd/${sandbox.namespace.network}`);
  }
  return { namespaces, url: `http://${address}`, gatewayPid: await gatewayProcess.pid() };
}

serveParent(kind === 'pipe' ? await pipe() : await gateways());
