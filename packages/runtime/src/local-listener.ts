import { once } from 'node:events';
import { type Server, type Socket, connect, createServer } from 'node:net';
import { conflict, messageOf } from '@toolhive/contract/failure';

/** How many connections to one port are open at once. A browser needs a few. */
const MOST_CONNECTIONS = 256;

/**
 * A port of this machine's loopback address that leads to a Unix socket. The daemon itself accepts the connections, so
 * that a sandbox receives no socket of this machine's network.
 */
export class LocalListener implements AsyncDisposable {
  readonly #servers: readonly Server[];
  readonly #open: Set<Socket>;

  private constructor(servers: readonly Server[], open: Set<Socket>) {
    this.#servers = servers;
    this.#open = open;
  }

  /** Listens on both loopback addresses, because browsers try either for `localhost`. Throws `conflict` for a port in use. */
  static async open(port: number, path: string): Promise<LocalListener> {
    const open = new Set<Socket>();
    const servers: Server[] = [];
    const listener = new LocalListener(servers, open);
    try {
      for (const host of ['127.0.0.1', '::1']) {
        const server = await listen(port, host, { path, open });
        if (server !== undefined) servers.push(server);
      }
      return listener;
    } catch (error) {
      await listener[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#servers.map(async (server) => {
      server.close();
      await once(server, 'close');
    });
    for (const socket of this.#open) socket.destroy();
    await Promise.all(closed);
  }
}

/** Returns undefined if the kernel has no IPv6. Another program at that address would get what a browser sends to `localhost`. */
async function listen(
  port: number,
  host: string,
  { path, open }: { path: string; open: Set<Socket> },
): Promise<Server | undefined> {
  const server = createServer({ allowHalfOpen: true }, (outer) => {
    open.add(outer);
    outer.on('close', () => open.delete(outer));
    lead(outer, path);
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException; // events of a server carry errors of the system
    if (host === '::1' && ['EADDRNOTAVAIL', 'EAFNOSUPPORT'].includes(code)) return undefined;
    const reason = code === 'EADDRINUSE' ? 'another program uses it' : messageOf(error);
    throw conflict(`local port ${port} cannot be published: ${reason}`, {
      hint: 'end the program that uses the port, or publish another one: --publish PORT:SERVER_PORT',
      cause: error,
    });
  }
  server.on('error', () => {}); // one connection could not be accepted
  return server;
}

function lead(outer: Socket, path: string): void {
  const inner = connect({ path, allowHalfOpen: true });
  outer.on('error', () => {}).on('close', () => inner.destroy());
  inner.on('error', () => {}).on('close', () => outer.destroy());
  outer.pipe(inner).pipe(outer);
}
