import { unavailable } from '@toolhive/contract/failure';
import { Door, type SocketPlace, forwardSource } from '../door.ts';
import { SERVER_ADDRESS } from '../egress/helper.ts';
import { type EgressNamespace, enteringUser } from '../egress/namespace.ts';
import type { EgressTools } from '../egress/tools.ts';
import { exitOf, spawnSealed } from '../spawn.ts';

/**
 * Where a server listens, by the network namespace that the forwarder is in. Every other address in the gateway's namespace
 * belongs to the gateway itself.
 */
const addresses = { server: ['127.0.0.1', SERVER_ADDRESS, '::1'], gateway: [SERVER_ADDRESS] };

/**
 * Runs in a container's network namespace, or in the gateway's: receives a listening socket from the daemon and forwards its connections
 * to the server's port. Ends with the daemon. Plain JavaScript, because it is an argument of Node.js.
 */
const ingressSource = `'use strict';
const [port, ...hosts] = process.argv.slice(1);
process.stdin.resume().on('end', () => process.exit());
process.once('message', (_message, listener) => {
  listener.allowHalfOpen = true;
  listener.on('error', () => {}); // one connection could not be accepted
  listener.on('connection', (outer) => {
    outer.on('error', () => {});
    forward(outer, hosts.map((host) => ({ host, port: Number(port) })));
  });
});

${forwardSource}`;

/** The way to a server that listens in a network namespace without a connection to that of the daemon. */
export class Ingress implements AsyncDisposable {
  /** Settles when the forwarder has ended and the server is unreachable. Never rejects. */
  readonly ended: Promise<unknown>;
  readonly #door: Door;
  readonly #end: () => Promise<unknown>;

  private constructor(door: Door, { ended, end }: { ended: Promise<unknown>; end: () => Promise<unknown> }) {
    this.ended = ended;
    this.#door = door;
    this.#end = end;
  }

  /** The Unix socket that leads to the server. */
  get path(): string {
    return this.#door.path;
  }

  static async open(
    place: SocketPlace,
    { node, nsenter }: EgressTools,
    { network, user, side, port }: Pick<EgressNamespace, 'network' | 'user' | 'side'> & { port: number },
  ): Promise<Ingress> {
    await using undo = new AsyncDisposableStack();
    const door = undo.use(await Door.open(place));
    const forwarder = spawnSealed(
      nsenter,
      [
        ...enteringUser(5),
        '--net=/proc/self/fd/4',
        '--',
        node,
        '--v8-pool-size=0',
        '--max-old-space-size=32',
      ].concat(['-e', ingressSource, String(port), ...addresses[side]]),
      ['pipe', undefined, undefined, 'ipc', network, user],
    );
    const ended = exitOf(forwarder);
    const end = (): Promise<unknown> => {
      forwarder.kill('SIGKILL');
      return ended;
    };
    undo.defer(async () => {
      await end();
    });
    const { pid } = forwarder;
    if (pid === undefined) throw unavailable(`${nsenter} cannot be started`);
    await door.handTo(forwarder, {});
    undo.move();
    return new Ingress(door, { ended, end });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    await this.#door[Symbol.asyncDispose]();
  }
}
