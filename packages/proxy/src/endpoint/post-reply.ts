import type { ServerResponse } from 'node:http';
import type { PassingSet } from '@toolhive/contract/passing';
import type { KeepAlive } from '../bridge/pending-replies.ts';
import type { Session } from '../bridge/session.ts';
import type { ResumableStream } from '../bridge/stream.ts';
import { onceClosed } from '../http/closing.ts';
import { EventStream, encodeEvent, keepAliveComment } from '../http/event-stream.ts';
import { replyJson, replyMessage } from '../http/reply.ts';
import { errorCodes } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Responder } from '../connection/responder.ts';
import { mcpErrors } from '../protocol/protocol.ts';

/** The first protocol version whose clients accept an event without a message. */
const primedSince = '2025-11-25';

/**
 * Answers one POST request of a session with JSON. Uses a resumable stream if messages precede the response, or if
 * the response takes so long that the connection needs keep-alive events.
 */
export class SessionPostReply implements Responder, KeepAlive {
  readonly #response: ServerResponse;
  readonly #session: Session;
  readonly #pending: PassingSet<KeepAlive>;
  readonly #canStream: boolean;
  readonly #headers: (() => Record<string, string>) | undefined;
  readonly #requestId: string | number | undefined;
  #stream: ResumableStream | undefined;
  #isAnswered = false;

  constructor({
    response,
    session,
    pending,
    canStream,
    headers,
    requestId,
  }: {
    response: ServerResponse;
    session: Session;
    /** The requests whose connections are kept alive. */
    pending: PassingSet<KeepAlive>;
    canStream: boolean;
    /** Further headers of the response. They are final when the response begins. */
    headers?: (() => Record<string, string>) | undefined;
    requestId: string | number | undefined;
  }) {
    this.#response = response;
    this.#session = session;
    this.#pending = pending;
    this.#canStream = canStream;
    this.#headers = headers;
    this.#requestId = requestId;
    pending.add(this);
    onceClosed(response, () => {
      if (this.#stream === undefined && !this.#isAnswered) pending.delete(this);
    });
  }

  /** A client may still come back for a stream. */
  get isAbandoned(): boolean {
    return this.#stream === undefined ? this.#response.destroyed : !this.#stream.isConnected;
  }

  answer(message: Message): void {
    const { value, http } = message;
    this.#isAnswered = true;
    this.#pending.delete(this);
    if (http !== undefined && this.#stream === undefined)
      return replyMessage(this.#response, http.status, message, http.headers);
    // The headers name a session, which exists only if `initialize` succeeds.
    const headers = value.error === undefined ? this.#headers?.() : undefined;
    if (this.#stream === undefined) return replyMessage(this.#response, 200, message, headers);
    this.#stream.send(message.text, true);
    this.#stream.end();
  }

  notify({ text }: Message): void {
    this.#send(text);
  }

  ask({ text }: Message): void {
    this.#send(text);
  }

  keepAlive(): void {
    if (this.#canStream) this.#opened().keepAlive();
  }

  #send(text: string): void {
    if (this.#canStream) this.#opened().send(text);
    else this.#session.stream.send(text);
  }

  #opened(): ResumableStream {
    if (this.#stream === undefined) {
      this.#stream = this.#session.openStream(this.#requestId);
      const prime = this.#session.client.protocolVersion >= primedSince;
      this.#stream.connect(new EventStream(this.#response, this.#headers?.()), { prime });
    }
    return this.#stream;
  }
}

/** Answers several messages of one POST together. What precedes the answers comes on the stream of the session. */
export class BatchReply implements Responder {
  readonly #response: ServerResponse;
  readonly #session: Session;
  readonly #answers: string[] = [];
  #missing: number;

  constructor(response: ServerResponse, session: Session, requests: number) {
    this.#response = response;
    this.#session = session;
    this.#missing = requests;
  }

  get isAbandoned(): boolean {
    return this.#response.destroyed;
  }

  answer({ text }: Message): void {
    this.#answers.push(text);
    this.#missing -= 1;
    if (this.#missing === 0) replyJson(this.#response, 200, `[${this.#answers.join(',')}]`);
  }

  notify({ text }: Message): void {
    this.#session.stream.send(text);
  }

  ask({ text }: Message): void {
    this.#session.stream.send(text);
  }
}

/** Answers one POST of a modern client in the same way, but the end of the connection cancels the request. */
export class ModernPostReply implements Responder, KeepAlive {
  readonly #response: ServerResponse;
  readonly #pending: PassingSet<KeepAlive>;
  #stream: EventStream | undefined;
  isAnswered = false;

  constructor(response: ServerResponse, pending: PassingSet<KeepAlive>) {
    this.#response = response;
    this.#pending = pending;
    pending.add(this);
  }

  answer(message: Message): void {
    const { value, http } = message;
    this.isAnswered = true;
    this.#pending.delete(this);
    if (this.#stream !== undefined) this.#stream.end(encodeEvent('message', message.text));
    else if (http !== undefined) replyMessage(this.#response, http.status, message, http.headers);
    else replyMessage(this.#response, value.error === undefined ? 200 : statusOf(value.error.code), message);
  }

  notify({ text }: Message): void {
    this.#opened().write(encodeEvent('message', text));
  }

  keepAlive(): void {
    this.#opened().write(keepAliveComment);
  }

  /** The client has disconnected. */
  close(): void {
    this.#pending.delete(this);
  }

  #opened(): EventStream {
    return (this.#stream ??= new EventStream(this.#response));
  }
}

/** Returns the HTTP status for an error (MCP 2026-07-28, Streamable HTTP, Protocol Version Header). */
function statusOf(code: number): number {
  if (code === errorCodes.methodNotFound) return 404;
  return code <= mcpErrors.headerMismatch && code >= mcpErrors.unsupportedVersion ? 400 : 200;
}
