import type { Call, ConnectionOwner, ServerConnection } from '../connection/connection.ts';
import type { ConnectionPool, OwnConnection } from '../connection/pool.ts';
import { errorCodes } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Session } from './session.ts';
import type { Sharing, StateSign } from './sharing.ts';
import { isListChange } from './subscriptions.ts';

export interface SharedProcessesOptions {
  pool: ConnectionPool;
  sharing: Sharing;
  /** How long a process without calls is kept. */
  sharedIdleMs: number;
}

/**
 * The processes that sessions share because the server keeps nothing for a session, each for one principal and one kind
 * of client, whose capabilities it knows. It can end at any time: the next call starts another one.
 */
export class SharedProcesses {
  readonly #options: SharedProcessesOptions;
  readonly #processes = new Map<string, SharedProcess>();

  constructor(options: SharedProcessesOptions) {
    this.#options = options;
  }

  /** The process that a session shares, if any. */
  of(session: Session): SharedProcess | undefined {
    return this.#processes.values().find(({ members }) => members.has(session));
  }

  /** Whether a call of this session would need no other process. */
  isReadyFor(session: Session): boolean {
    return this.#options.sharing.isTogether && this.#processes.has(keyOf(session));
  }

  /** Returns the process for a session, and starts it if necessary. Returns undefined if it must not share one. */
  async join(session: Session): Promise<OwnConnection | undefined> {
    const { pool, sharing } = this.#options;
    await sharing.decided();
    // The proxy does not know the callers of the API.
    if (!sharing.isTogether || session.isRelayed) return undefined;
    const key = keyOf(session);
    const process = this.#processes.get(key) ?? new SharedProcess(sharing, () => this.#delete(key, process));
    this.#processes.set(key, process);
    const own = await process.join(session, pool).catch((error: unknown) => {
      this.#delete(key, process);
      throw error;
    });
    if (own === undefined) this.#delete(key, process);
    return own;
  }

  /**
   * Takes a session out of the process that it shares, because the server keeps something for this session from now on.
   * Its earlier calls end there. Returns whether it shared one.
   */
  separate(session: Session, sign: StateSign): boolean {
    const process = this.of(session);
    if (process === undefined) return false;
    this.#options.sharing.learn(sign);
    process.members.delete(session);
    session.own = undefined;
    return true;
  }

  /** Ends processes that nothing needs anymore. One that keeps something stays as long as its sessions. */
  maintain(): void {
    const { sharing, sharedIdleMs } = this.#options;
    for (const [key, process] of this.#processes) {
      if (!process.isIdleFor(sharedIdleMs, sharing.isTogether)) continue;
      this.#delete(key, process);
      process.end();
    }
  }

  #delete(key: string, process: SharedProcess): void {
    if (this.#processes.get(key) === process) this.#processes.delete(key);
  }
}

/** A process that several sessions share. */
class SharedProcess implements ConnectionOwner {
  readonly members = new Set<Session>();
  readonly #sharing: Sharing;
  readonly #onLost: () => void;
  #opened: Promise<OwnConnection | undefined> | undefined;
  /** The connection, once its sessions may use it. */
  #own: OwnConnection | undefined;

  constructor(sharing: Sharing, onLost: () => void) {
    this.#sharing = sharing;
    this.#onLost = onLost;
  }

  /** Adds a session. Returns undefined if the list of the server for its client forbids that. */
  async join(session: Session, pool: ConnectionPool): Promise<OwnConnection | undefined> {
    this.members.add(session);
    this.#opened ??= this.#open(session, pool);
    try {
      const own = await this.#opened;
      if (own === undefined) return undefined;
      return { ...own, giveBack: () => this.leave(session) };
    } finally {
      if (this.#own === undefined) this.members.delete(session);
    }
  }

  /** Ends the calls of a session, which does not use the process anymore. */
  leave(session: Session): void {
    this.members.delete(session);
    this.#own?.connection.refuseAllOf(session, 'the session was closed');
  }

  /** Whether the process can end. `isStateless`: nothing is lost if it ends while it has sessions. */
  isIdleFor(ms: number, isStateless: boolean): boolean {
    if (this.#own === undefined) return false; // it is starting
    const { busy, lastUsedMs } = this.#own.connection;
    const idleMs = performance.now() - lastUsedMs;
    return busy === 0 && (isStateless ? idleMs >= ms : this.members.size === 0);
  }

  end(): void {
    const own = this.#own;
    this.#forget();
    own?.giveBack();
  }

  notified(notification: Message, call: Call | undefined): void {
    if (isListChange(notification)) {
      this.#sharing.learn('changed');
      for (const session of this.members) session.notify(notification);
    } else if (call !== undefined) call.responder.notify(notification);
    else this.#only?.notify(notification);
  }

  /** Passes a question on if it certainly belongs to one session, because the answer depends on the client. */
  asked(connection: ServerConnection, request: Message, call: Call | undefined): void {
    this.#sharing.learn('asked');
    if (this.#own === undefined) return connection.decline(request); // the process ends, and each session gets another one
    const asking = call !== undefined && this.members.has(call.caller as Session) ? call : undefined;
    const session = (asking?.caller as Session | undefined) ?? this.#only; // a member, as was just checked
    if (session !== undefined) return session.ask(connection, request, asking);
    const message =
      'several sessions use this process, so ToolHive does not know which client to ask. Every new session has a separate process';
    connection.respond(request, { error: { code: errorCodes.serverError, message } });
  }

  lost(): void {
    this.#forget();
    this.#onLost();
  }

  get #only(): Session | undefined {
    return this.members.size === 1 ? this.members.values().next().value : undefined;
  }

  async #open(session: Session, pool: ConnectionPool): Promise<OwnConnection | undefined> {
    const own = await pool.take(this, session.client, { isForAll: true });
    if (await this.#sharing.admits(own.connection)) {
      this.#own = own.connection.isOpen ? own : undefined;
      return own;
    }
    own.giveBack();
    return undefined;
  }

  /** The next request of each session looks for a process again. */
  #forget(): void {
    this.#own = undefined;
    for (const session of this.members) session.own = undefined;
    this.members.clear();
  }
}

/** Only sessions with the same key share a process: never those of several principals. */
function keyOf({ principal, client }: Session): string {
  return JSON.stringify([principal.id, client]);
}
