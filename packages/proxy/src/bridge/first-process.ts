import { ServerConnection } from '../connection/connection.ts';
import type { ConnectionOwner } from '../connection/connection.ts';
import type { ConnectionPool, OpenTransport } from '../connection/pool.ts';
import { RestingTransport } from '../connection/resting-transport.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import type { Transport } from '../transport/transport.ts';
import type { Sharing } from './sharing.ts';
import type { Subscriptions } from './subscriptions.ts';

/** After this many restarts for requests, the time without requests doubles no more. */
const maxDoublings = 7;

export interface FirstProcessOptions {
  pool: ConnectionPool;
  sharing: Sharing;
  subscriptions: Subscriptions;
  /** How long the process stays without a request. Doubles with each restart for a request. */
  restMs: number;
  client: ClientIdentity;
  input: WorkloadInput;
  /** Told that the process has failed, so that the workload must start it again. The reason continues "the server". */
  onExcess: (reason: string) => void;
  onFault: (error: unknown) => void;
}

/** How to reach a process, and how to start another one. */
export interface FirstServer {
  transport: Transport;
  openTransport: OpenTransport;
  /** Ends the process behind `transport`, which is not a failure. Without it, the process never rests. */
  rest?: (() => Promise<void>) | undefined;
}

/**
 * The process that all clients share. It rests while clients have their own processes, which show that the server
 * works. Without them, it runs. See decision 97.
 */
export class FirstProcess {
  readonly #options: FirstProcessOptions;
  #replaced: ServerConnection | undefined;
  #opened: ServerConnection | undefined;
  /** How to reach `#opened` if it can rest. */
  #transport: RestingTransport | undefined;
  /** The handshake is over. */
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #closing = new Set<Promise<void>>();

  constructor(options: FirstProcessOptions) {
    this.#options = options;
  }

  /** Returns a connection to a new process, without a handshake. */
  open({ transport: first, openTransport, rest }: FirstServer, owner: ConnectionOwner): ServerConnection {
    this.#replaced = this.#opened;
    const { client, input, onFault } = this.#options;
    const onFailed = (reason: string): void => this.#failed(connection, reason);
    const resting =
      rest &&
      new RestingTransport({ first, endFirst: rest, openTransport, client, input, onFailed, onFault });
    const connection = new ServerConnection({ transport: resting ?? first, owner, input, onFault });
    this.#set(connection, resting);
    return connection;
  }

  /** Closes the connection to the process before. */
  closeReplaced(): void {
    this.#end(this.#replaced, 'the server was replaced');
    this.#replaced = undefined;
  }

  /** Lets the process of a connection rest from now on, because its handshake is over. */
  follow(connection: ServerConnection): void {
    this.#isReady = this.#opened === connection;
    this.look();
  }

  /** Decides whether the process rests, after clients got or lost processes or began to listen to changes. */
  look(): void {
    const { pool, sharing, subscriptions, restMs } = this.#options;
    const [connection, transport] = [this.#opened, this.#transport];
    if (!this.#isReady || connection?.isOpen !== true || transport === undefined) return;
    const mayRest = connection.generation === 'legacy' && sharing.mayBeSeparate && !subscriptions.areWanted;
    if (pool.isEmpty || !mayRest) return transport.wake();
    if (transport.isResting || this.#timer !== undefined) return;
    const isBusy = connection.busy > 0;
    const idleMs = isBusy ? 0 : performance.now() - connection.lastUsedMs;
    const leftMs = restMs * 2 ** Math.min(transport.wakes, maxDoublings) - idleMs;
    if (leftMs <= 0 && !isBusy) return transport.rest();
    const later = (): void => {
      this.#timer = undefined;
      this.look();
    };
    this.#timer = setTimeout(later, leftMs).unref();
  }

  /** Closes the connection, if there is one. */
  close(reason: string): void {
    const before = this.#opened;
    this.#set(undefined);
    this.#end(before, reason);
  }

  /** Returns when all processes have ended whose connections were closed. */
  async closed(): Promise<void> {
    await Promise.all(this.#closing);
  }

  #set(connection: ServerConnection | undefined, transport?: RestingTransport): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#opened = connection;
    this.#transport = transport;
    this.#isReady = false;
  }

  #end(connection: ServerConnection | undefined, reason: string): void {
    if (connection === undefined) return;
    const closed = connection
      .close(reason)
      .catch(this.#options.onFault)
      .finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  /** If no process could be started, clients that have their own processes continue. */
  #failed(connection: ServerConnection, reason: string): void {
    if (this.#opened === connection && (!connection.isOpen || this.#options.pool.isEmpty))
      this.#options.onExcess(reason);
  }
}
