import type { Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { OpenWay } from '../transport/upstream-client.ts';

/**
 * The connections that ToolHive itself opens to one of its proxies, to read something. A client cannot claim to be
 * ToolHive: the proxy knows these connections by their own addresses and ports.
 */
export class OwnConnections {
  readonly #places = new Set<string>();

  readonly open: OpenWay = (wrap = (connect) => connect) => {
    const connect = buildConnector({});
    const noted: buildConnector.connector = (options, connected) =>
      connect(options, (...result) => {
        const { localAddress, localPort } = result[1] ?? {};
        if (localPort !== undefined) {
          const place = placeOf(localAddress, localPort);
          this.#places.add(place);
          result[1]?.once('close', () => this.#places.delete(place));
        }
        connected(...result);
      });
    return new Agent({ connect: wrap(noted) });
  };

  /** Whether the other end of a connection is in this process. */
  has({ remotePort, remoteAddress }: Socket): boolean {
    return this.#places.size > 0 && this.#places.has(placeOf(remoteAddress, remotePort));
  }
}

/** A listener for both IP versions sees IPv4 addresses as IPv6 addresses. */
function placeOf(address = '', port = 0): string {
  return `${address.replace(/^::ffff:/, '')} ${port}`;
}
