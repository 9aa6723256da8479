import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Message, ResponseHead } from '../jsonrpc/message.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';

/** Who sends requests, as established by the authentication middleware. */
export interface Principal {
  /** Identifies the principal. Empty for `anonymous`. */
  readonly id: string;
  /** The claims of the token (RFC 7519, section 4). */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Returns the challenge that tells its client to ask for a token with these scopes (RFC 6750, section 3.1). */
  readonly challenge?: (scopes: readonly string[]) => string;
}

/** Any caller that can reach a proxy without authentication. */
export const anonymous: Principal = { id: '' };

/** The sealed ID of a session, which leads every peer to the session. */
export interface SessionSealing {
  /** What the request's sealed ID says about its session. Only an ID for the principal of the request is unsealed. */
  readonly named?: {
    readonly client: ClientIdentity;
    /** The proxy that held the session has ended, so this one continues the session. */
    readonly isOrphan: boolean;
  };
  /** Returns what the client gets as the ID of a session that this proxy holds. */
  sealed: (id: string, client: ClientIdentity) => string;
  /** Returns a state for the client that leads its next request to this proxy, whichever proxy gets it. */
  sealedState: (state: string) => string;
  /** Takes the request if its state belongs to a call that waits elsewhere. Otherwise, returns the state of this proxy. */
  opened: (state: string, message: Message) => { state: string } | 'taken';
  /** Returns what the client gets as the ID of an event that belongs to a request, so that any peer knows that request. */
  sealedEvent: (id: string, request: Message) => string;
  /** Returns the server's ID of an event, and its request. Undefined for an ID that was not sealed for this session. */
  openedEvent: (sealed: string) => { id: string; request: Message } | undefined;
}

/** One HTTP request on its way through a workload's proxy. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** The path without the query. */
  path: string;
  /** The query without the question mark. */
  query: string;
  principal: Principal;
  /** The headers that the server gets for this principal, if its token was exchanged (RFC 8693). */
  credentials?: Readonly<Record<string, string>>;
  /**
   * The message in the body, as soon as it has been read. Absent for a batch and for a body that is forwarded unread.
   */
  message?: Message;
  /** The API caller, if the request came through the API. */
  relayed?: { readonly principal: Principal | undefined } | undefined;
  /** ToolHive reads something for itself. */
  isOwnRead?: boolean;
  /** How sessions continue at peers, the other proxies in front of the same server. Absent if there are none. */
  sealing?: SessionSealing | undefined;
  /** A peer relayed the request, and must not get it back. */
  isRelayedByPeer?: boolean;
  /** The client address, if a peer relayed the request. */
  clientAddress?: string | undefined;
  /** The server that the request is for, if a peer named it. */
  pod?: string | undefined;
  /** Told of the messages in the body, as soon as they were read. */
  onMessages?: ((messages: readonly Message[]) => void) | undefined;
}

/** Who a message comes from or goes to, the same for all messages of a conversation. */
export interface Caller {
  readonly workload: string;
  readonly principal: Principal;
  /** The ID of the client's session. Absent for a client without one, such as every client of 2026-07-28. */
  readonly session?: string;
  /** What the client says about itself. */
  readonly client: ClientIdentity;
}

/** A message on its way between a client and the server. */
export interface CallContext extends Caller {
  readonly direction: 'to server' | 'to client';
  /** The message under the IDs that the client knows. */
  readonly message: Message;
  /**
   * For a response, the request that it answers. For a notification or a server request, the related client request,
   * if known.
   */
  readonly request?: Message | undefined;
}

/** Why a message goes no further, as a JSON-RPC error (JSON-RPC 2.0, section 5.1). */
export interface Refusal {
  readonly kind: 'refusal';
  readonly code: number;
  readonly message: string;
  readonly data?: object | undefined;
  /** How the HTTP response differs from others, if the refusal becomes one. */
  readonly http?: ResponseHead | undefined;
}

/** A message that goes no further. */
export interface RefusedCall {
  readonly context: CallContext;
  readonly refusal: Refusal;
  /** Whether the request was refused because a middleware failed. */
  readonly isFault: boolean;
}

/** The resulting message, or the reason for a refusal. */
export type Outcome = Message | Refusal;

/**
 * One concern of a proxy. A middleware handles HTTP requests before their body is read, messages in both directions,
 * or both.
 *
 * A refused request is answered with the error, a refused response is replaced by the error, and a refused
 * notification is dropped. The middleware further out sees the error as the response. An exception is also a refusal.
 */
export interface Middleware {
  /**
   * Whether the middleware leaves all messages unchanged. If so, requests without a readable message need not be
   * refused.
   */
  readonly isObserver?: boolean | undefined;
  /** Whether the middleware reads messages only if another component reads them anyway. */
  readonly isPassive?: boolean | undefined;
  /** Forwards an HTTP request by calling `next`, or answers it. */
  readonly request?: ((exchange: Exchange, next: () => void) => void) | undefined;
  /**
   * Forwards a message, unchanged or replaced, or refuses it. Called for every request, response, and notification in
   * both directions and every protocol version. The `inputRequests` and `inputResponses` of 2026-07-28 (Multi
   * Round-Trip Requests) appear as server requests and their responses. Returns a promise only if it must wait. Later
   * messages in the same stream then wait too.
   */
  readonly message?: ((context: CallContext) => Outcome | Promise<Outcome>) | undefined;
  /** Told of each message that a middleware has refused, before anything else is. */
  readonly refused?: ((refused: RefusedCall) => void) | undefined;
}
