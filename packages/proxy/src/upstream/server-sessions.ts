import { PassingMap } from '@toolhive/contract/passing';
import type { Message } from '../jsonrpc/message.ts';
import type { Principal } from '../middleware/middleware.ts';
import { newestLegacyVersion } from '../protocol/protocol.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';

/**
 * How many sessions are remembered. If callers are authenticated, a client with an older session must initialize
 * again.
 */
const maxSessions = 1000;
/** How many unanswered requests are remembered, in each direction of a session. */
const maxRequests = 100;

/** The middleware's view of a session that an HTTP server manages. */
export interface ServerSession {
  readonly id: string;
  readonly principal: Principal;
  readonly client: ClientIdentity;
  /** Whether the session began through the API. */
  readonly isRelayed: boolean;
  readonly startedMs: number;
  lastSeenMs: number;
  /** Requests of the client, whose responses may come on another stream. */
  readonly requests: UnansweredRequests;
  /** Requests of the server that were delivered to the client. */
  readonly serverRequests: UnansweredRequests;
}

/** The requests of one side that are not answered yet, by their IDs. */
class UnansweredRequests {
  readonly #requests = new PassingMap<string | number | undefined, Message>();
  readonly #taskTokens = new Set<string>();

  add(request: Message): void {
    this.#requests.set(request.value.id, request);
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > maxRequests && oldest !== undefined) this.#requests.delete(oldest);
    const token = isTask(request) ? tokenOf(request) : undefined;
    if (token !== undefined) this.#taskTokens.add(token);
    const [first] = this.#taskTokens;
    if (this.#taskTokens.size > maxRequests && first !== undefined) this.#taskTokens.delete(first);
  }

  /** Returns the request with the ID of `response`. */
  find(response: Message): Message | undefined {
    return this.#requests.get(response.value.id);
  }

  /** Whether a request has this progress token. The token of a task is valid after the response, too. */
  hasToken(token: string): boolean {
    return this.#taskTokens.has(token) || this.#requests.values().some((one) => tokenOf(one) === token);
  }

  /** Returns and forgets the request with the ID of `response`. */
  take(response: Message): Message | undefined {
    const request = this.find(response);
    this.#requests.delete(response.value.id);
    return request;
  }
}

/** Returns the progress token of a request as text, because some servers write numbers as text. */
export function tokenOf({ value }: Message): string | undefined {
  const token = value.params?._meta?.progressToken;
  return typeof token === 'string' || typeof token === 'number' ? String(token) : undefined;
}

/** Whether a request begins a task, which goes on after the response (MCP 2025-11-25, Tasks). */
export function isTask({ value }: Message): boolean {
  return value.params?.['task'] !== undefined;
}

/** The sessions of one HTTP server. Each session belongs to the principal that created it. */
export class ServerSessions {
  readonly #sessions = new Map<string, ServerSession>();
  readonly #isAuthenticated: boolean;

  /** `isAuthenticated`: callers may use only sessions that are known to be theirs. */
  constructor({ isAuthenticated }: { isAuthenticated: boolean }) {
    this.#isAuthenticated = isAuthenticated;
  }

  /** Throws if the server has given the ID to another principal already. */
  begin(id: string, principal: Principal, client: ClientIdentity, isRelayed = false): ServerSession {
    const known = this.#sessions.get(id);
    if (known !== undefined && known.principal.id !== principal.id)
      throw new Error('the server assigned the same session to two callers');
    const session: ServerSession = {
      id,
      principal,
      client,
      isRelayed,
      startedMs: Date.now(),
      lastSeenMs: Date.now(),
      requests: new UnansweredRequests(),
      serverRequests: new UnansweredRequests(),
    };
    this.#sessions.delete(id);
    this.#sessions.set(id, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#sessions.delete(oldest);
    return session;
  }

  /** Returns the session with this ID if the principal may use it. */
  find(id: string, principal: Principal): ServerSession | undefined {
    const known = this.#sessions.get(id);
    if (known === undefined)
      return this.#isAuthenticated ? undefined : this.begin(id, principal, unknownClient);
    if (known.principal.id !== principal.id) return undefined;
    this.#sessions.delete(id); // the most recently used session is forgotten last
    this.#sessions.set(id, known);
    known.lastSeenMs = Date.now();
    return known;
  }

  /** Returns the session that another proxy has seen the server give to the principal. */
  adopt(id: string, principal: Principal, client: ClientIdentity): ServerSession | undefined {
    return this.#sessions.has(id) ? undefined : this.begin(id, principal, client);
  }

  all(): ServerSession[] {
    return [...this.#sessions.values()];
  }

  end(id: string): void {
    this.#sessions.delete(id);
  }

  endAll(): void {
    this.#sessions.clear();
  }
}

/** What is known about a client that has not introduced itself. */
export const unknownClient: ClientIdentity = { protocolVersion: newestLegacyVersion, capabilities: {} };
