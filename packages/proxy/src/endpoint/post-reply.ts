import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Waiting } from '../bridge/bridge.ts';
import type { Session } from '../bridge/session.ts';
import type { ResumableStream } from '../bridge/stream.ts';
import { EventStream, encodeEvent } from '../http/event-stream.ts';
import { replyJson } from '../http/reply.ts';
import { errorCodes } from '../jsonrpc/message.ts';
import type { MessageValue } from '../jsonrpc/message.ts';
import type { Responder } from '../connection/connection.ts';
import { mcpErrors } from '../protocol/protocol.ts';

/** The first revision whose clients know an event without a message. */
const primedSince = '2025-11-25';

export function takesEvents({ headers }: IncomingMessage): boolean {
  return headers.accept?.includes('text/event-stream') === true;
}

/**
 * The answer to one POST of a session: JSON, unless something has to be said before the answer, or the answer takes
 * so long that the connection has to be kept alive. Then it is a stream, which can be resumed.
 */
export class SessionPostReply implements Responder, Waiting {
  readonly #response: ServerResponse;
  readonly #session: Session;
  readonly #waiting: Set<Waiting>;
  readonly #canStream: boolean;
  readonly #headers: Record<string, string> | undefined;
  #stream: ResumableStream | undefined;

  constructor({
    response,
    session,
    waiting,
    canStream,
    headers,
  }: {
    response: ServerResponse;
    session: Session;
    /** Whom the connection is kept alive by. */
    waiting: Set<Waiting>;
    canStream: boolean;
    headers?: Record<string, string>;
  }) {
    this.#response = response;
    this.#session = session;
    this.#waiting = waiting;
    this.#canStream = canStream;
    this.#headers = headers;
    waiting.add(this);
    response.once('close', () => {
      if (this.#stream === undefined) waiting.delete(this);
    });
  }

  /** Its client may still come back for a stream. */
  get isAbandoned(): boolean {
    return this.#stream === undefined ? this.#response.destroyed : !this.#stream.isConnected;
  }

  answer(text: string, { error }: MessageValue): void {
    this.#waiting.delete(this);
    // The headers name a session, which is there only if the answer says so.
    const headers = error === undefined ? this.#headers : undefined;
    if (this.#stream === undefined) return replyJson(this.#response, 200, text, headers);
    this.#stream.send(text);
    this.#stream.end();
  }

  notify(text: string): void {
    this.#say(text);
  }

  ask(text: string): void {
    this.#say(text);
  }

  keepAlive(): void {
    if (this.#canStream) this.#opened().keepAlive();
  }

  #say(text: string): void {
    if (this.#canStream) this.#opened().send(text);
    else this.#session.send(text);
  }

  #opened(): ResumableStream {
    if (this.#stream === undefined) {
      this.#stream = this.#session.openStream();
      const prime = this.#session.client.protocolVersion >= primedSince;
      this.#stream.connect(new EventStream(this.#response, this.#headers), { prime });
    }
    return this.#stream;
  }
}

/** The answer to one modern POST: the same, but a connection that ends takes the request with it. */
export class ModernPostReply implements Responder, Waiting {
  readonly #response: ServerResponse;
  readonly #waiting: Set<Waiting>;
  #stream: EventStream | undefined;
  isAnswered = false;

  constructor(response: ServerResponse, waiting: Set<Waiting>) {
    this.#response = response;
    this.#waiting = waiting;
    waiting.add(this);
  }

  answer(text: string, { error }: MessageValue): void {
    this.isAnswered = true;
    this.#waiting.delete(this);
    if (this.#stream !== undefined) this.#stream.end(encodeEvent('message', text));
    else replyJson(this.#response, error === undefined ? 200 : statusOf(error.code), text);
  }

  notify(text: string): void {
    this.#opened().write(encodeEvent('message', text));
  }

  keepAlive(): void {
    this.#opened().write(': keep-alive\n\n');
  }

  /** The client has gone away. */
  close(): void {
    this.#waiting.delete(this);
  }

  #opened(): EventStream {
    return (this.#stream ??= new EventStream(this.#response));
  }
}

/** The status that goes with an error (MCP 2026-07-28, Streamable HTTP, Protocol Version Header). */
function statusOf(code: number): number {
  if (code === errorCodes.methodNotFound) return 404;
  return code <= mcpErrors.headerMismatch && code >= mcpErrors.unsupportedVersion ? 400 : 200;
}
