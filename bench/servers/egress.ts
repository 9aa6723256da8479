// The way of one server to a host: `node egress.ts gateway|pipe ADDRESS [COUNT]`. A gateway is what the daemon has for each
// server with network rules, a pipe the least that could be there instead. Says how a client gets to the host.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { EgressGateway } from '../../packages/runtime/src/egress/gateway.ts';
import { GatewayNetwork } from '../../packages/runtime/src/egress/gateway-network.ts';
import { findEgressTools } from '../../packages/runtime/src/egress/tools.ts';
import { Rules } from '../../packages/runtime/src/outbound-rules.ts';
import { serveParent } from '../child.ts';

/** The information that a client needs to reach the host. */
export interface Way {
  /** Paths of the network namespaces for clients. Empty for the current namespace. */
  namespaces: readonly string[];
  url: string;
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
  const rules = new Rules({ hosts: [address], ports: [80] });
  const refuse = () => Promise.reject(new Error('no name is needed'));
  const namespaces: string[] = [];
  const network = new GatewayNetwork();
  for (let made = 0; made < Number(count); made++) {
    const sandbox = await network.makeNamespace(tools);
    const gateway = new EgressGateway(sandbox.namespace.sockets, { rules, record: () => undefined }, refuse);
    network.enter(tools, sandbox, gateway);
    namespaces.push(`/proc/${process.pid}/fd/${sandbox.namespace.network}`);
  }
  return { namespaces, url: `http://${address}` };
}

serveParent(kind === 'pipe' ? await pipe() : await gateways());
