import type { Duplex } from 'node:stream';
import { PassingMap } from '@toolhive/contract/passing';
import type { MessagePipeline } from '../middleware/message-pipeline.ts';
import type { Principal } from '../middleware/middleware.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import { Session } from './session.ts';
import type { SharedStreams } from './shared-streams.ts';

export interface SessionTableOptions {
  workload: string;
  messages: MessagePipeline;
  shared?: SharedStreams | undefined;
  /** Beyond this number, the session that was silent for the longest time ends. */
  maxSessions: number;
  /** How long a session may be silent. */
  sessionIdleMs: number;
  /** How long a disconnected client's session keeps its connection to the server. */
  ownIdleMs: number;
  now: () => number;
  /** Measures silence. Unlike `now`, it is never set, and it stands still on a machine that sleeps, if the system can tell. */
  elapsed: () => number;
  /** Told that clients can name a session from now on. */
  onKept: (session: Session) => void;
  /** Told of a session that this proxy continues. */
  onAdopted: (session: Session) => void;
  onClosed: (session: Session) => void;
}

/** The sessions of legacy clients. Each session belongs to the principal that created it. */
export class SessionTable {
  readonly #options: SessionTableOptions;
  readonly #named = new PassingMap<string, Session>();
  readonly #ofConnections = new PassingMap<Duplex, Session[]>();

  constructor(options: SessionTableOptions) {
    this.#options = options;
  }

  /** The events of sessions that other proxies have stored. */
  get shared(): SharedStreams | undefined {
    return this.#options.shared;
  }

  /** How many sessions clients can name. */
  get size(): number {
    return this.#named.size;
  }

  /** The only session that clients can name, if there is exactly one. */
  get only(): Session | undefined {
    return this.#named.size === 1 ? this.#named.values().next().value : undefined;
  }

  /** Creates a session. Unless kept, the session ends with the request. */
  begin(principal: Principal, { isRelayed = false }: { isRelayed?: boolean } = {}): Session {
    return this.#open(principal, isRelayed);
  }

  /** Continues a session that another proxy began for the principal. */
  adopt(id: string, principal: Principal, client: ClientIdentity): Session | undefined {
    if (this.#named.has(id)) return undefined; // of another principal
    const session = this.#open(principal, false, id);
    session.client = client;
    this.keep(session);
    this.#options.onAdopted(session);
    return session;
  }

  /** The sessions that clients can name. */
  all(): Session[] {
    return [...this.#named.values()];
  }

  /** Keeps a session, so that its client can use the session in further requests. */
  keep(session: Session): void {
    if (session.isNamed) return;
    if (this.#named.size >= this.#options.maxSessions) this.#closeOldest();
    this.#named.set(session.id, session);
    session.isLasting = true;
    session.isNamed = true;
    this.#options.onKept(session);
  }

  /** Returns the session with this ID if the principal created it. */
  find(id: string, principal: Principal): Session | undefined {
    const session = this.#named.get(id);
    if (session?.principal.id !== principal.id) return undefined;
    session.lastSeenMs = this.#options.now();
    session.usedMs = this.#options.elapsed();
    session.principal = principal;
    return session;
  }

  /** Returns the session for requests without a session ID. It lasts as long as their connection. */
  ofConnection(connection: Duplex, principal: Principal, options: { isRelayed?: boolean } = {}): Session {
    const known = this.#ofConnections.get(connection);
    const own = known?.find((session) => session.principal.id === principal.id);
    if (own !== undefined) {
      own.principal = principal;
      return own;
    }
    const session = this.begin(principal, options);
    session.isLasting = true;
    if (known !== undefined) known.push(session);
    else {
      this.#ofConnections.set(connection, [session]);
      connection.once('close', () => this.#forget(connection));
    }
    return session;
  }

  /** Closes the session with an ID. Returns whether there was one. */
  end(id: string): boolean {
    const session = this.all().find((one) => one.id === id);
    if (session !== undefined) this.close(session);
    return session !== undefined;
  }

  close(session: Session): void {
    this.#named.delete(session.id);
    session.isLasting = false;
    session.isNamed = false;
    this.#options.onClosed(session);
    session.close();
  }

  closeAll(): void {
    for (const session of [...this.#named.values(), ...this.#ofConnections.values()].flat()) session.close();
    this.#named.clear();
    this.#ofConnections.clear();
  }

  /** Closes sessions that were silent for too long, and keeps the connections of the others alive. */
  maintain(): void {
    const { elapsed, sessionIdleMs, ownIdleMs } = this.#options;
    for (const session of this.#named.values()) {
      session.stream.keepAlive();
      if (session.isListening) continue;
      const silentMs = elapsed() - session.usedMs;
      if (silentMs > sessionIdleMs) this.close(session);
      else if (silentMs > ownIdleMs) session.releaseOwn({ ifIdle: true });
    }
  }

  #open(principal: Principal, isRelayed: boolean, id?: string): Session {
    const { workload, messages, now, elapsed, shared } = this.#options;
    const times = { nowMs: now(), elapsedMs: elapsed() };
    return new Session({ workload, principal, messages, isRelayed, ...times, id, shared });
  }

  #forget(connection: Duplex): void {
    const sessions = this.#ofConnections.get(connection) ?? [];
    this.#ofConnections.delete(connection);
    for (const session of sessions) this.close(session);
  }

  #closeOldest(): void {
    const [oldest] = [...this.#named.values()].toSorted(
      (a, b) => Number(a.isListening) - Number(b.isListening) || a.usedMs - b.usedMs,
    );
    if (oldest !== undefined) this.close(oldest);
  }
}
