import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Message, ResponseHead } from '../jsonrpc/message.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';

/** Who sends requests, as established by the authentication middleware. */
export interface Principal {
  /** Identifies the principal. Empty for `anonymous`. */
  readonly id: string;
  /** What its token says about it (RFC 7519, section 4). */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Returns the challenge that tells its client to ask for a token with these scopes (RFC 6750, section 3.1). */
  readonly challenge?: (scopes: readonly string[]) => string;
}

/** Any caller that can reach a proxy without authentication. */
export const anonymous: Principal = { id: '' };

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
  /** The message in the body, as soon as it was read. Absent for a batch, and if the body is passed through unread. */
  message?: Message;
  /** Present if the request came through the API, and then who the caller is there. */
  relayed?: { readonly principal: Principal | undefined } | undefined;
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
   * For a response, the request that it answers. For a notification or a request of the server, the request of the
   * client that it belongs to, if that is known.
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
  /** It was refused because a middleware failed. */
  readonly isFault: boolean;
}

/** The message as it goes on, or why it does not. */
export type Outcome = Message | Refusal;

/**
 * One concern of a proxy. It sees HTTP requests before their body is read, or messages in both directions, or both.
 *
 * A refused request is answered with the error, a refused response is replaced by it, and a refused notification is
 * dropped. Middleware outside of the one that refuses sees the error as the response. An exception refuses too.
 */
export interface Middleware {
  /** It changes and refuses no messages, so requests that contain none that it could read need not be refused. */
  readonly isObserver?: boolean | undefined;
  /** It looks at messages only where they are read anyway. Alone, it is no reason to read them. */
  readonly isPassive?: boolean | undefined;
  /** Passes an HTTP request on by calling `next`, or answers it. */
  readonly request?: ((exchange: Exchange, next: () => void) => void) | undefined;
  /**
   * Passes a message on, unchanged or replaced, or refuses it. Called for every request, response, and notification
   * in either direction, in every protocol version. What 2026-07-28 puts into `inputRequests` and `inputResponses`
   * (Multi Round-Trip Requests) appears as requests of the server and their responses. Returns a promise only if it
   * must wait; the messages that follow in the same stream then wait too.
   */
  readonly message?: ((context: CallContext) => Outcome | Promise<Outcome>) | undefined;
  /** Told of each message that a middleware has refused, before anything else is. */
  readonly refused?: ((refused: RefusedCall) => void) | undefined;
}
