import { errorCodes } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Call, ConnectionOwner, ServerConnection } from './connection.ts';

/** Kept for later use, owned but without a request, waiting for a client that is gone, or waiting for the server. */
type Use = 'kept' | 'idle' | 'parked' | 'busy';

/** Which connections make room first. A busy one never does. */
const evictionOrder: readonly Use[] = ['kept', 'idle', 'parked'];

/** Returns the connection that should make room, if any can: of the least needed ones, the one idle for longest. */
export function evictable(connections: Iterable<PooledConnection>): PooledConnection | undefined {
  const idle = [...connections].filter(({ use, isNew }) => use !== 'busy' && !isNew);
  const [first] = idle.toSorted(
    (one, other) =>
      evictionOrder.indexOf(one.use) - evictionOrder.indexOf(other.use) ||
      one.connection.lastUsedMs - other.connection.lastUsedMs,
  );
  return first;
}

/** Something that a server continues to do after the call that began it, over the connection of the call. */
export interface Watcher {
  /** Whether the server works on it, so that the connection is kept. */
  readonly isRunning: boolean;
  /** Whether a client follows it over this connection, so that no other client may take the place. */
  readonly isFollowed: boolean;
  /** Takes a request of the server. Returns false if it belongs to something else. */
  asked(request: Message, call: Call | undefined): boolean;
  lost(reason: string): void;
}

/** A pooled connection and its current owner, which receives all its messages. */
export class PooledConnection implements ConnectionOwner {
  declare connection: ServerConnection;
  owner: ConnectionOwner | undefined;
  /** The key that the next owner must have. */
  keptFor: string | undefined;
  keepTimer: NodeJS.Timeout | undefined;
  /** The owner that gave it back, as long as it is kept. */
  #keeper: ConnectionOwner | undefined;
  /** The owner has not had time to use it, so no other client may take the place. */
  isNew = true;
  readonly watchers: Set<Watcher> = new Set();
  readonly #onIdle: () => void;
  readonly #onLost: (pooled: PooledConnection) => void;

  constructor({ onIdle, onLost }: { onIdle: () => void; onLost: (pooled: PooledConnection) => void }) {
    this.#onIdle = onIdle;
    this.#onLost = onLost;
  }

  get use(): Use {
    const watchers = [...this.watchers];
    if (watchers.some(({ isFollowed }) => isFollowed)) return 'busy';
    if (this.owner === undefined) return this.isWorking ? 'parked' : 'kept';
    if (this.owner.isParked === true) return 'parked';
    if (this.connection.busy === 0) return 'idle';
    return this.connection.isAwaited ? 'busy' : 'parked';
  }

  /** The server works on something that no call waits for. */
  get isWorking(): boolean {
    return this.watchers.values().some(({ isRunning }) => isRunning);
  }

  takenBy(owner: ConnectionOwner): void {
    clearTimeout(this.keepTimer);
    this.keptFor = undefined;
    this.#keeper = undefined;
    this.owner = owner;
    this.isNew = true;
    setImmediate(() => {
      this.isNew = false;
      this.#onIdle();
    });
  }

  keepFor(key: string, timer: NodeJS.Timeout): void {
    this.#keeper = this.owner;
    this.owner = undefined;
    this.keptFor = key;
    this.keepTimer = timer;
  }

  notified(notification: Message, call: Call | undefined): void {
    if (this.owner !== undefined) this.owner.notified(notification, call);
    else this.#keeper?.notifiedLater?.(notification);
  }

  asked(connection: ServerConnection, request: Message, call: Call | undefined): void {
    if (this.watchers.values().some((watcher) => watcher.asked(request, call))) return;
    if (this.owner !== undefined) return this.owner.asked(connection, request, call);
    const error = { code: errorCodes.serverError, message: 'no client is connected' };
    connection.respond(request, { error });
  }

  renewed(connection: ServerConnection): void {
    this.owner?.renewed?.(connection);
  }

  idle(): void {
    this.#onIdle();
  }

  lost(connection: ServerConnection, reason: string): void {
    const { owner } = this;
    this.owner = undefined;
    this.#onLost(this);
    owner?.lost(connection, reason);
    for (const watcher of this.watchers) watcher.lost(reason);
    this.watchers.clear();
  }
}
