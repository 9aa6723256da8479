import { createHash } from 'node:crypto';
import { Seal } from '../sealing/seal.ts';
import type { SealKeys } from '../sealing/seal.ts';
import { ownMessage } from '../jsonrpc/message.ts';
import type { Message, MessageValue } from '../jsonrpc/message.ts';
import type { Principal } from '../middleware/middleware.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';

/** Where a session is. */
export interface Route {
  /** The server that the session belongs to. */
  pod: string;
  /** The ID of the session there. */
  id: string;
  /** The proxy that holds the session. Absent if the server holds the session. */
  owner?: string;
  client: ClientIdentity;
}

/** Longer than any client keeps a session. A session that has ended is unknown to its server. */
const validMs = 30 * 24 * 60 * 60_000;
/** The longest description of a client that its session ID contains. Headers are limited to 16 KiB. */
const maxClientChars = 2000;
/** The longest sealed ID. */
const maxChars = 8000;

/**
 * Seals routes into the session IDs of clients. Every proxy with the same keys can serve the session, and a client can
 * neither read nor change a route, nor use one that was sealed for another principal or workload.
 */
export class RouteSeal {
  readonly #seal: Seal;
  readonly #bound: string;

  constructor(workload: string, keys: SealKeys, now?: () => number) {
    this.#seal = new Seal(now, keys);
    this.#bound = JSON.stringify(['route', workload]);
  }

  /** Throws if the server's own session ID is too long for a header. */
  seal({ client, ...route }: Route, { id }: Principal): string {
    const content = JSON.stringify({ ...route, client: shortened(client), who: digestOf(id) });
    const sealed = this.#seal.seal(content, this.#bound, validMs);
    if (sealed.length > maxChars) throw new Error('the session ID of the server is too long');
    return sealed;
  }

  /** Returns the route if it was sealed for this principal. */
  open(sealed: string, principal: Principal): Route | undefined {
    const { who, ...route } = this.#content(sealed) ?? {};
    return who === digestOf(principal.id) ? (route as Route) : undefined;
  }

  /** The proxy that holds a session, which checks whose session that is. */
  ownerOf(sealed: string): string | undefined {
    return this.#content(sealed)?.owner;
  }

  #content(sealed: string): (Route & { who: string }) | undefined {
    if (sealed.length > maxChars) return undefined;
    const content = this.#seal.unseal(sealed, this.#bound);
    return content === undefined ? undefined : (JSON.parse(content) as Route & { who: string }); // written by `seal`
  }
}

/** The parameters of a request that the middleware reads when the response comes. */
const keptParameters = ['name', 'uri', 'cursor', 'level'];
const maxParameterChars = 500;

/**
 * Seals the request of an event into its ID. A client that has lost its connection names its last event to any proxy, which
 * has to know the request to pass the response through its middleware.
 */
export class EventSeal {
  readonly #seal: Seal;
  readonly #bound: string;

  constructor(workload: string, keys: SealKeys, now?: () => number) {
    this.#seal = new Seal(now, keys);
    this.#bound = JSON.stringify(['event', workload]);
  }

  /** `session` is the session of the request, as the server knows it. */
  seal(id: string, request: Message, { id: who }: Principal, session = ''): string {
    const content = JSON.stringify([id, summaryOf(request), digestOf(`${who} ${session}`)]);
    return this.#seal.seal(content, this.#bound, validMs);
  }

  /** Returns the event if it was sealed for this principal and session. */
  open(sealed: string, { id: who }: Principal, session = ''): { id: string; request: Message } | undefined {
    if (sealed.length > maxChars) return undefined;
    const content = this.#seal.unseal(sealed, this.#bound);
    if (content === undefined) return undefined;
    const [id, summary, owner] = JSON.parse(content) as [string, Summary, string]; // written by `seal`
    return owner === digestOf(`${who} ${session}`) ? { id, request: ownMessage(summary) } : undefined;
  }
}

type Summary = MessageValue & { method: string };

function summaryOf({ value: { id, method = '', params } }: Message): Summary {
  const kept = keptParameters.flatMap((name) => {
    const value = params?.[name];
    return typeof value === 'string' && value.length <= maxParameterChars ? [[name, value] as const] : [];
  });
  const named = id === undefined ? {} : { id };
  return { ...named, method, params: Object.fromEntries(kept) };
}

/** Only the capabilities and the name matter for a session that continues elsewhere. */
function shortened({ protocolVersion, capabilities, clientInfo }: ClientIdentity): ClientIdentity {
  const whole = { protocolVersion, capabilities, clientInfo: namesIn(clientInfo) };
  if (JSON.stringify(whole).length <= maxClientChars) return whole;
  const offered = Object.keys(capabilities).slice(0, 20);
  return {
    protocolVersion,
    capabilities: Object.fromEntries(offered.map((name) => [name.slice(0, 50), {}])),
  };
}

function namesIn(clientInfo: unknown): Record<string, unknown> | undefined {
  if (typeof clientInfo !== 'object' || clientInfo === null) return undefined;
  const { name, version } = clientInfo as Record<string, unknown>;
  return { name, version };
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
