import { setTimeout as delay } from 'node:timers/promises';
import type { WorkloadInput } from '../input/workload-input.ts';
import type { Message } from '../jsonrpc/message.ts';
import { errorCodes } from '../jsonrpc/message.ts';
import type { ClientIdentity, ProtocolGeneration } from '../protocol/protocol.ts';
import type { Transport } from '../transport/transport.ts';
import { performHandshake } from './handshake.ts';
import { ServerConnection } from './connection.ts';
import type { Call, ConnectionOwner } from './connection.ts';

/** How long a server has for its greeting. */
const handshakeMs = 60_000;
/** How long one that was started for the next client is kept. Clients come in swarms. */
const spareMs = 60_000;

export interface PoolOptions {
  /** How many there may be at once. */
  maxOwn: number;
  /** How long a request waits for one to become free. */
  waitForRoomMs: number;
  /** How long one waits for the next server, when the one that it was begun with has ended. */
  waitForServerMs: number;
  /** How long one is kept that was given back. */
  keepMs: number;
  probeMs: number;
  /** Starting one takes a while, so that the next one is started before it is needed. */
  isSlow: boolean;
  /** The limits on what servers send. */
  input: WorkloadInput;
  onFault: (error: unknown) => void;
}

/** Starts something that can be talked to: a process of its own, or a conversation over HTTP. */
export type OpenTransport = (signal: AbortSignal) => Promise<Transport>;

/** Where conversations come from, until it is over. */
interface Source {
  openTransport: OpenTransport;
  generation: ProtocolGeneration;
  over: AbortController;
  /** Started, and not greeted yet: for whom it is will be known only then. */
  spare?: { transport: Promise<Transport>; timer: NodeJS.Timeout } | undefined;
}

/** A conversation that is its holder's own until it is given back. */
export interface OwnConnection {
  readonly connection: ServerConnection;
  /** With a `key`, it is kept for whoever asks for the same; without, it is ended. */
  giveBack(key?: string): void;
}

/**
 * The conversations with one server that are not shared. There are only so many: the one that was silent for
 * longest makes room, and its holder, who is told that it is lost, gets another one with its next request.
 */
export class ConnectionPool {
  readonly #options: PoolOptions;
  /** What is being started or ended: there is a process behind each, or will be in a moment. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #connections = new Set<PooledConnection>();
  #opening = 0;
  #waiting: (() => void)[] = [];
  #source: Source | undefined;
  /** Why nobody is going to say where new ones come from. */
  #overFor: string | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Says where new ones come from. */
  use(openTransport: OpenTransport, generation: ProtocolGeneration): void {
    this.#source = { openTransport, generation, over: new AbortController() };
    this.#overFor = undefined;
    this.#wake();
  }

  /** Ends all of them, and opens no more until there is a new source; with `final`, nobody waits for that. */
  async close(reason: string, final: boolean): Promise<void> {
    if (final) this.#overFor = reason;
    const source = this.#source;
    this.#source = undefined;
    source?.over.abort(new Error(reason));
    if (source !== undefined) void this.#track(dropSpare(source));
    for (const pooled of this.#connections) void this.#end(pooled, reason);
    this.#wake();
    // Also what was begun or ended a moment ago: whoever closes twice waits twice.
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** One for `holder`, who speaks for `client`; one that was given back with `key`, if there is any. */
  async take(holder: ConnectionOwner, client: ClientIdentity, key?: string): Promise<OwnConnection> {
    const kept =
      key === undefined ? undefined : this.#connections.values().find((pooled) => pooled.keptFor === key);
    const pooled = kept ?? (await this.#open(client));
    pooled.keptFor = undefined;
    clearTimeout(pooled.keepTimer);
    pooled.holder = holder;
    return { connection: pooled.connection, giveBack: (keepFor) => this.#giveBack(pooled, keepFor) };
  }

  /** Ends those that are kept under a key that begins like this. */
  endKept(start: string): void {
    for (const pooled of this.#connections)
      if (pooled.keptFor?.startsWith(start) === true)
        this.#end(pooled, 'nobody needs it any more').catch(this.#options.onFault);
  }

  /** Gives up requests for whose answers nobody has been waiting for this long. */
  giveUpAbandoned(abandonedMs: number): void {
    for (const { connection } of this.#connections) connection.giveUpAbandoned(abandonedMs);
  }

  #giveBack(pooled: PooledConnection, key: string | undefined): void {
    pooled.holder = undefined;
    if (key !== undefined && pooled.connection.isOpen) {
      pooled.keptFor = key;
      const end = (): void => void this.#end(pooled, 'nobody has needed it for long');
      pooled.keepTimer = setTimeout(end, this.#options.keepMs).unref();
    } else void this.#end(pooled, 'nobody needs it any more');
    this.#wake();
  }

  async #open(client: ClientIdentity): Promise<PooledConnection> {
    await this.#room();
    const deadline = performance.now() + this.#options.waitForServerMs;
    try {
      for (;;) {
        const source = await this.#nextSource(deadline);
        try {
          return await this.#track(this.#begin(source, client));
        } catch (error) {
          if (!source.over.signal.aborted) throw error;
          // The server went before it was asked for anything, so that the next one can be.
        }
      }
    } finally {
      this.#opening--;
      this.#prepare();
      this.#wake();
    }
  }

  async #nextSource(deadline: number): Promise<Source> {
    while (this.#source === undefined) {
      if (this.#overFor !== undefined) throw new Error(`the server is not running: ${this.#overFor}`);
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new Error('the server is still starting');
      await this.#turn(leftMs);
    }
    return this.#source;
  }

  async #begin(source: Source, client: ClientIdentity): Promise<PooledConnection> {
    const { generation, over } = source;
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(handshakeMs)]);
    const spare = await takeSpare(source).catch(() => undefined);
    const transport = spare ?? (await source.openTransport(over.signal));
    const { input, onFault } = this.#options;
    const pooled = new PooledConnection((lost) => void this.#end(lost, 'the server ended'));
    pooled.connection = new ServerConnection({ transport, owner: pooled, input, onFault });
    try {
      await performHandshake(pooled.connection, {
        client,
        generation,
        probeMs: this.#options.probeMs,
        signal,
      });
      signal.throwIfAborted();
    } catch (error) {
      await pooled.connection.close('it could not be greeted');
      // It may have ended while it waited for somebody to talk to.
      if (spare !== undefined && !signal.aborted) return this.#begin(source, client);
      throw error;
    }
    this.#connections.add(pooled);
    // Nobody takes it away before whoever it is for has had the chance to use it.
    setImmediate(() => {
      pooled.isNew = false;
      this.#wake();
    });
    return pooled;
  }

  /** Has one started for the next client, if there may be another. */
  #prepare(): void {
    const source = this.#source;
    const isFull = this.#connections.size + this.#opening >= this.#options.maxOwn;
    if (!this.#options.isSlow || source === undefined || source.spare !== undefined || isFull) return;
    const transport = this.#track(source.openTransport(source.over.signal));
    const timer = setTimeout(() => void this.#track(dropSpare(source)), spareMs).unref();
    const spare = { transport, timer };
    source.spare = spare;
    transport.catch(() => {
      if (source.spare === spare) source.spare = undefined; // whoever needs one is told why there is none
    });
  }

  /** Returns when there is room for one more, which is counted from then on. */
  async #room(): Promise<void> {
    const deadline = performance.now() + this.#options.waitForRoomMs;
    while (this.#connections.size + this.#opening >= this.#options.maxOwn) {
      const idle = this.#longestIdle();
      if (idle !== undefined) {
        // Its place is free at once: a server that takes its time to end must not keep the next client waiting.
        this.#end(idle, 'it made room for another client').catch(this.#options.onFault);
        continue;
      }
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new Error('too many clients use the server at once, try again later');
      await this.#turn(leftMs);
    }
    this.#opening++;
  }

  #longestIdle(): PooledConnection | undefined {
    const idle = [...this.#connections].filter(({ use, isNew }) => use !== 'busy' && !isNew);
    const places = idle.toSorted(
      (one, other) =>
        order.indexOf(one.use) - order.indexOf(other.use) ||
        one.connection.lastUsedMs - other.connection.lastUsedMs,
    );
    return places[0];
  }

  /** Returns when something has changed, or after that long. */
  async #turn(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = new AbortController();
    this.#waiting.push(resolve);
    const late = delay(ms, undefined, { signal: over.signal }).catch(() => {}); // the other one came first
    await Promise.race([promise, late]);
    over.abort();
  }

  #wake(): void {
    for (const waiter of this.#waiting.splice(0)) waiter();
  }

  async #end(pooled: PooledConnection, reason: string): Promise<void> {
    this.#connections.delete(pooled);
    clearTimeout(pooled.keepTimer);
    await this.#track(pooled.connection.close(reason));
    this.#wake();
  }

  /** Remembers it until it has settled. */
  #track<Value>(promise: Promise<Value>): Promise<Value> {
    const settled = (): void => void this.#underWay.delete(promise);
    this.#underWay.add(promise);
    promise.then(settled, settled);
    return promise;
  }
}

/** Rejects when there is none. */
async function takeSpare(source: Source): Promise<Transport> {
  const { spare } = source;
  if (spare === undefined) throw new Error('there is none');
  source.spare = undefined;
  clearTimeout(spare.timer);
  return spare.transport;
}

async function dropSpare(source: Source): Promise<void> {
  const transport = await takeSpare(source).catch(() => undefined);
  await transport?.close();
}

/** What a conversation is used for: by nobody, by one who asks nothing now, by one who has gone away, by one who waits. */
type Use = 'kept' | 'idle' | 'parked' | 'busy';

/** Who makes room first; among equals, whoever was silent for longest. A busy one never does. */
const order: readonly Use[] = ['kept', 'idle', 'parked'];

/** A conversation and whoever has it now. */
class PooledConnection implements ConnectionOwner {
  declare connection: ServerConnection;
  holder: ConnectionOwner | undefined;
  keptFor: string | undefined;
  /** Until when it is kept. */
  keepTimer: NodeJS.Timeout | undefined;
  isNew = true;
  readonly #onLost: (pooled: PooledConnection) => void;

  constructor(onLost: (pooled: PooledConnection) => void) {
    this.#onLost = onLost;
  }

  get use(): Use {
    if (this.holder === undefined) return 'kept';
    if (this.holder.isParked === true) return 'parked';
    if (this.connection.busy === 0) return 'idle';
    return this.connection.isAwaited ? 'busy' : 'parked';
  }

  notified(message: Message, call: Call | undefined): void {
    this.holder?.notified(message, call);
  }

  asked(connection: ServerConnection, message: Message, call: Call | undefined): void {
    if (this.holder !== undefined) this.holder.asked(connection, message, call);
    else
      connection.respond(message, { error: { code: errorCodes.serverError, message: 'there is no client' } });
  }

  lost(connection: ServerConnection, reason: string): void {
    const { holder } = this;
    this.holder = undefined;
    this.#onLost(this);
    holder?.lost(connection, reason);
  }
}
