import type { Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { OpenWay } from '../transport/upstream-client.ts';

/**
 * The connections that ToolHive itself opens to one of its proxies, to read something. A client cannot claim to be
 * ToolHive: the proxy knows these connections by their ports on this machine.
 */
export class OwnConnections {
  readonly #ports = new Set<number>();

  readonly open: OpenWay = (wrap = (connect) => connect) => {
    const connect = buildConnector({});
    const noted: buildConnector.connector = (options, connected) =>
      connect(options, (...result) => {
        const { localPort } = result[1] ?? {};
        if (localPort !== undefined) {
          this.#ports.add(localPort);
          result[1]?.once('close', () => this.#ports.delete(localPort));
        }
        connected(...result);
      });
    return new Agent({ connect: wrap(noted) });
  };

  /** Whether the other end of a connection is in this process. */
  has({ remotePort, remoteAddress, localAddress }: Socket): boolean {
    return remotePort !== undefined && this.#ports.has(remotePort) && remoteAddress === localAddress;
  }
}
