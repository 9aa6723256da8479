import type { WorkloadInput } from '../input/workload-input.ts';
import type { ClientIdentity, ServerIdentity } from '../protocol/protocol.ts';
import type { EarlierSession, Transport } from '../transport/transport.ts';
import { Changes } from './changes.ts';
import { ServerConnection } from './connection.ts';
import type { ConnectionOwner } from './connection.ts';
import { greetingOf, handshakeMs, performHandshake } from './handshake.ts';
import { PooledConnection, evictable } from './pooled-connection.ts';
import type { Watcher } from './pooled-connection.ts';

/** How long a process is kept that was started for the next client. */
const standbyMs = 60_000;
/** A client that comes so soon after another one is probably followed by more. A single one needs no second process. */
const rushMs = 10_000;
/** How often to look for a connection that can make room because its client has disconnected, which nothing reports. */
const recheckMs = 1_000;
/** How long a request waits for a connection that others have started before it starts a further one. */
const patienceMs = 5_000;

export interface PoolOptions {
  /** How many connections there may be at once. */
  maxOwn: number;
  /** How many may be started at once for requests with the same key. */
  maxStarting: number;
  /** How long a client waits for one to become free. */
  waitForRoomMs: number;
  /** How long a client waits for the next server if the current one has ended. */
  waitForServerMs: number;
  /** How long a connection is kept that is given back now. */
  keepMs: () => number;
  probeMs: number;
  /** Opening a connection takes time, so the pool opens one before the next client needs it. */
  isSlow: boolean;
  /** The limits on server messages. */
  input: WorkloadInput;
  /** Told after each change of `isEmpty`, and perhaps at other times. */
  onChange: () => void;
  onFault: (error: unknown) => void;
}

/** Opens a further connection to the server: starts a process, or begins a session over HTTP. */
export type OpenTransport = (signal: AbortSignal, earlier?: EarlierSession) => Promise<Transport>;

/** The session that a connection continues, and the description of its server. */
export interface Resumed {
  id: string;
  identity: ServerIdentity;
}

/** Where connections come from, until the server ends. */
interface Source {
  openTransport: OpenTransport;
  over: AbortController;
  /** Open, but without a handshake, which names the client. */
  standby?: { transport: Promise<Transport>; timer: NodeJS.Timeout } | undefined;
}

/** A connection that belongs to one owner until its release. */
export interface OwnConnection {
  readonly connection: ServerConnection;
  /**
   * With a `key`, the pool keeps the connection for the next owner with the same key. Otherwise the connection is
   * closed.
   */
  giveBack(key?: string): void;
  /** Follows something that the server continues to do, until the returned function is called or the connection ends. */
  watch(watcher: Watcher): () => void;
}

interface TakeOptions {
  key?: string | undefined;
  resumed?: Resumed | undefined;
  /** The next clients will use the connection too, so none is opened for them. */
  isForAll?: boolean;
  /** The connection is for no client, so the pool expects no further ones. */
  isForNobody?: boolean;
}

/**
 * The unshared connections to one server, each initialized for its client. Only legacy protocol versions have state
 * to separate. When the pool is full, the connection with the longest idle time is closed. Its owner is notified and
 * gets another connection with the next request.
 */
export class ConnectionPool {
  readonly #options: PoolOptions;
  /** What is being opened or closed. There is a process behind each, or will be soon. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #connections = new Set<PooledConnection>();
  /** The keys of connections that are being opened, or undefined for those without a key. */
  readonly #opening: (string | undefined)[] = [];
  /** Connections whose place is free, but whose process may not have ended. */
  #ending = 0;
  readonly #changes = new Changes();
  #lastTakenMs = -Infinity;
  #source: Source | undefined;
  /** Why the source is missing, and whether clients should not wait for another one. */
  #absence: { reason: string; isFinal: boolean } | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Whether no client has a connection or waits for one to open. */
  get isEmpty(): boolean {
    return this.#connections.size === 0 && this.#opening.length === 0;
  }

  /** Opens further connections with `openTransport`. */
  use(openTransport: OpenTransport): void {
    this.#source = { openTransport, over: new AbortController() };
    this.#absence = undefined;
    this.#changes.announce();
  }

  /** Closes all connections. Clients then wait for another source, unless this is final. */
  async close(reason: string, isFinal: boolean): Promise<void> {
    this.#absence = { reason, isFinal };
    const source = this.#source;
    this.#source = undefined;
    source?.over.abort(new Error(reason));
    if (source !== undefined) this.#track(closeStandby(source)).catch(this.#options.onFault);
    for (const pooled of this.#connections) this.#end(pooled, reason).catch(this.#options.onFault);
    this.#changes.announce();
    // Also waits for connections that another call is closing.
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  /** Returns a connection for `owner`: one that was kept under `key` if there is one, or a new one that names `client`. */
  async take(
    owner: ConnectionOwner,
    client: ClientIdentity,
    options: TakeOptions = {},
  ): Promise<OwnConnection> {
    const kept = await this.#keptOrRoom(owner, options.key);
    const pooled = kept ?? (await this.#open(client, options));
    if (kept === undefined) pooled.takenBy(owner);
    return {
      connection: pooled.connection,
      giveBack: (keepFor) => this.#giveBack(pooled, keepFor),
      watch(watcher) {
        pooled.watchers.add(watcher);
        return () => pooled.watchers.delete(watcher);
      },
    };
  }

  /** Opens a connection for the next client in advance. */
  prepare(): void {
    this.#openStandby();
  }

  /** Closes the connections that are kept under a key with this prefix. */
  endKept(prefix: string): void {
    for (const pooled of this.#connections)
      if (pooled.keptFor?.startsWith(prefix) === true && !pooled.isWorking)
        this.#end(pooled, 'the connection is not needed anymore').catch(this.#options.onFault);
  }

  /** Refuses requests whose clients have been disconnected for this long. */
  giveUpAbandoned(abandonedMs: number): void {
    for (const { connection } of this.#connections) connection.giveUpAbandoned(abandonedMs);
  }

  #giveBack(pooled: PooledConnection, key: string | undefined): void {
    // A server that still works on something keeps its process, without a next owner.
    const keptFor = key ?? (pooled.isWorking ? working : undefined);
    if (keptFor !== undefined && pooled.connection.isOpen) this.#keep(pooled, keptFor);
    else {
      pooled.owner = undefined;
      this.#end(pooled, 'the connection is not needed anymore').catch(this.#options.onFault);
    }
    this.#changes.announce();
  }

  #keep(pooled: PooledConnection, key: string): void {
    const { keepMs, onFault } = this.#options;
    const end = (): void => {
      if (pooled.isWorking) pooled.keepTimer = setTimeout(end, keepMs()).unref();
      else this.#end(pooled, 'the connection was idle for too long').catch(onFault);
    };
    pooled.keepFor(key, setTimeout(end, keepMs()).unref());
  }

  /** Opens a connection in the room that was kept for it. */
  async #open(client: ClientIdentity, options: TakeOptions): Promise<PooledConnection> {
    const { key, resumed } = options;
    const deadline = performance.now() + this.#options.waitForServerMs;
    try {
      for (;;) {
        const source = await this.#nextSource(deadline);
        try {
          return await this.#track(this.#openFrom(source, client, resumed));
        } catch (error) {
          if (!source.over.signal.aborted) throw error;
          // The server ended before receiving a request, so the next connection can take the request.
        }
      }
    } finally {
      this.#opening.splice(this.#opening.indexOf(key), 1);
      this.#expectMore(options);
      this.#changes.announce();
      this.#options.onChange();
    }
  }

  /** Opens a connection for the next client if this one came soon after another. */
  #expectMore({ isForAll = false, isForNobody = false }: TakeOptions): void {
    if (isForNobody) return;
    const nowMs = performance.now();
    if (!isForAll && nowMs - this.#lastTakenMs < rushMs) this.#openStandby();
    this.#lastTakenMs = nowMs;
  }

  async #nextSource(deadline: number): Promise<Source> {
    while (this.#source === undefined) {
      const leftMs = deadline - performance.now();
      if (this.#absence !== undefined && (this.#absence.isFinal || leftMs <= 0))
        throw new Error(`the server is not running: ${this.#absence.reason}`);
      if (leftMs <= 0) throw new Error('the server is still starting');
      await this.#changes.next(leftMs);
    }
    return this.#source;
  }

  async #openFrom(
    source: Source,
    client: ClientIdentity,
    resumed: Resumed | undefined,
  ): Promise<PooledConnection> {
    const { over } = source;
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(handshakeMs)]);
    const earlier = resumed && { id: resumed.id, greeting: greetingOf(client) };
    const standby = earlier === undefined ? await takeStandby(source).catch(() => undefined) : undefined;
    const transport = standby ?? (await source.openTransport(over.signal, earlier));
    const { input, onFault, probeMs } = this.#options;
    const pooled = new PooledConnection({
      onIdle: () => this.#changes.announce(),
      onLost: (lost) => {
        this.#end(lost, 'the server ended').catch(this.#options.onFault);
      },
    });
    pooled.connection = new ServerConnection({ transport, owner: pooled, input, onFault });
    try {
      if (resumed !== undefined) pooled.connection.establish('legacy', resumed.identity);
      else await performHandshake(pooled.connection, { client, generation: 'legacy', probeMs, signal });
      signal.throwIfAborted();
    } catch (error) {
      await pooled.connection.close('the handshake failed');
      // The connection may have ended while on standby.
      if (standby !== undefined && !signal.aborted) return this.#openFrom(source, client, resumed);
      throw error;
    }
    this.#connections.add(pooled);
    return pooled;
  }

  /** Opens a connection for the next client, if there may be another one. */
  #openStandby(): void {
    const source = this.#source;
    const isFull = this.#connections.size + this.#opening.length >= this.#options.maxOwn;
    if (!this.#options.isSlow || source === undefined || source.standby !== undefined || isFull) return;
    const transport = this.#track(source.openTransport(source.over.signal));
    const timer = setTimeout(() => {
      this.#track(closeStandby(source)).catch(this.#options.onFault);
    }, standbyMs).unref();
    const standby = { transport, timer };
    source.standby = standby;
    transport.catch(() => {
      clearTimeout(timer); // it must not close a later one
      if (source.standby === standby) source.standby = undefined; // a client that needs one gets the error itself
    });
  }

  /**
   * Takes a connection that is kept under the key, or waits for one, or for room to open one more. The room is then
   * kept. Of many requests at once, most find a connection that an earlier one gives back.
   */
  async #keptOrRoom(owner: ConnectionOwner, key: string | undefined): Promise<PooledConnection | undefined> {
    const startMs = performance.now();
    const { maxOwn, maxStarting, waitForRoomMs } = this.#options;
    for (;;) {
      const kept = this.#connections.values().find(({ keptFor }) => key !== undefined && keptFor === key);
      kept?.takenBy(owner);
      if (kept !== undefined) return kept;
      const waitedMs = performance.now() - startMs;
      const starting = key === undefined ? 0 : this.#opening.filter((other) => other === key).length;
      const isPatient = starting >= maxStarting && waitedMs < patienceMs;
      const isCrowded = this.#ending >= maxOwn || isPatient;
      if (!isCrowded && this.#connections.size + this.#opening.length < maxOwn) break;
      const idle = isCrowded ? undefined : evictable(this.#connections);
      if (idle !== undefined) {
        // Its place is free at once: a server that ends slowly must not delay the next client, unless many do.
        this.#end(idle, 'another client needed the connection').catch(this.#options.onFault);
        continue;
      }
      const leftMs = waitForRoomMs - waitedMs;
      if (leftMs <= 0) throw new Error('too many clients use the server at once, try again later');
      await this.#changes.next(Math.min(leftMs, recheckMs));
    }
    this.#opening.push(key);
    return undefined;
  }

  async #end(pooled: PooledConnection, reason: string): Promise<void> {
    this.#connections.delete(pooled);
    clearTimeout(pooled.keepTimer);
    this.#options.onChange();
    this.#ending++;
    try {
      const keepsSession = pooled.isWorking;
      await this.#track(pooled.connection.close(reason, { keepsSession }));
    } finally {
      this.#ending--;
      this.#changes.announce();
    }
  }

  /** Holds a promise until it settles. */
  #track<Value>(promise: Promise<Value>): Promise<Value> {
    const settled = (): void => {
      this.#underWay.delete(promise);
    };
    this.#underWay.add(promise);
    promise.then(settled, settled);
    return promise;
  }
}

/** The key of connections that no owner can take. */
const working = 'working';

/** Rejects if there is none. */
async function takeStandby(source: Source): Promise<Transport> {
  const { standby } = source;
  if (standby === undefined) throw new Error('there is none');
  source.standby = undefined;
  clearTimeout(standby.timer);
  return standby.transport;
}

async function closeStandby(source: Source): Promise<void> {
  const transport = await takeStandby(source).catch(() => undefined);
  await transport?.close();
}
