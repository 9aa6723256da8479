import { unavailable } from '@toolhive/contract/failure';
import { SERVER_ADDRESS } from '../../egress/link-addresses.ts';
import { type EgressNamespace, enteringUser } from '../../egress/namespace.ts';
import type { EgressTools } from '../../egress/tools.ts';
import { embeddedProgram } from '../../embedded-program.ts';
import { frugalNode } from '../../frugal-node.ts';
import { PublishedSocket, type SocketPlace } from '../../published-socket.ts';
import { exitOf, spawnSealed } from '../../spawn.ts';
import type { ServerSocket } from './container-network.ts';

/**
 * Where a server listens, by the network namespace that the forwarder is in. Every other address in the gateway's namespace
 * belongs to the gateway itself.
 */
const addresses = { server: ['127.0.0.1', SERVER_ADDRESS, '::1'], gateway: [SERVER_ADDRESS] };

/** The way to a server that listens in a network namespace without a connection to that of the daemon. */
export class PortForwarder implements ServerSocket {
  /** Settles when the forwarder has ended and the server is unreachable. Never rejects. */
  readonly ended: Promise<unknown>;
  readonly #socket: PublishedSocket;
  readonly #end: () => Promise<unknown>;

  private constructor(
    socket: PublishedSocket,
    { ended, end }: { ended: Promise<unknown>; end: () => Promise<unknown> },
  ) {
    this.ended = ended;
    this.#socket = socket;
    this.#end = end;
  }

  /** The Unix socket that leads to the server. */
  get path(): string {
    return this.#socket.path;
  }

  static async open(
    place: SocketPlace,
    { node, nsenter }: EgressTools,
    { network, user, side, port }: Pick<EgressNamespace, 'network' | 'user' | 'side'> & { port: number },
  ): Promise<PortForwarder> {
    await using undo = new AsyncDisposableStack();
    const socket = undo.use(await PublishedSocket.open(place));
    const entering = [...enteringUser(5), '--net=/proc/self/fd/4', '--'];
    const program = [node, ...frugalNode, '-e', embeddedProgram('port-forwarder.ts')];
    const forwarder = spawnSealed(
      nsenter,
      [...entering, ...program, String(port), ...addresses[side]],
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
    await socket.passTo(forwarder);
    undo.move();
    return new PortForwarder(socket, { ended, end });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    await this.#socket[Symbol.asyncDispose]();
  }
}
