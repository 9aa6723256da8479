import type { ServerResponse } from 'node:http';
import { raiseFault } from '@toolhive/contract/fault';
import type { KeepAlive } from '../bridge/pending-replies.ts';
import { keepAliveComment } from '../http/event-stream.ts';
import { endSoon, replyText } from '../http/reply.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Aborter, AnswerHeaders } from '../transport/answer.ts';
import { endToEnd } from './forwarder.ts';

/** What is written into one event. */
export interface ReplyEvent {
  data?: string | undefined;
  id?: string | undefined;
}

/**
 * The reply to one HTTP request whose messages are sent to the server individually. For a single message, this is the
 * server's reply. Otherwise it contains all replies, as a JSON array or as a stream.
 */
export class ForwardedReply implements KeepAlive, Aborter {
  readonly #response: ServerResponse;
  readonly #isBatch: boolean;
  /** How many messages the server has not replied to. */
  #missing: number;
  readonly #answers: string[] = [];
  readonly #aborts = new Set<(reason: Error) => void>();
  #isStream = false;

  constructor(response: ServerResponse, messages = 1) {
    this.#response = response;
    this.#isBatch = messages > 1;
    this.#missing = messages;
  }

  /** Replies with the server's status and headers, and a body that may have been changed. */
  whole(status: number, headers: AnswerHeaders, body = ''): void {
    if (this.#isBatch) return this.#collect(body === '' || status >= 300 ? [] : [body]);
    const bytes = Buffer.byteLength(body);
    const own = withoutLength(endToEnd(headers, bytes > 0));
    if (bytes > 0 || status >= 300) own.push('content-length', String(bytes));
    this.#response.writeHead(status, own);
    endSoon(this.#response, body, bytes);
  }

  /** Replies with one JSON-RPC message. */
  message({ text, http }: Message): void {
    if (this.#isBatch) return this.#collect([text]);
    this.whole(http?.status ?? 200, { 'content-type': 'application/json', ...http?.headers }, text);
  }

  /** Starts a stream of events, in reply to at least one of the messages. */
  open(headers: AnswerHeaders): void {
    if (this.#isStream) return;
    this.#isStream = true;
    // Reverse proxies would otherwise keep events until their buffer is full.
    const unbuffered = { ...headers, 'x-accel-buffering': 'no' };
    this.#response.writeHead(200, withoutLength(endToEnd(unbuffered)));
    this.#response.flushHeaders(); // the stream may have no event for a while, so a comment tells the client that the stream is open
    for (const data of this.#answers.splice(0)) this.event({ data })?.catch(raiseFault);
  }

  /** Writes an event. Returns a promise if the client must read before there is room for the next one. */
  event({ data = '', id }: ReplyEvent): Promise<void> | undefined {
    if (this.#response.destroyed) return undefined;
    const lines = data.includes('\n') || data.includes('\r') ? data.replace(/\r\n|\r|\n/g, '\ndata: ') : data;
    const hasRoom = this.#response.write(
      `${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${lines}\n\n`,
    );
    if (hasRoom) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#response.once('drain', resolve).once('close', resolve);
    return promise;
  }

  /** The server's stream has ended. */
  end(): void {
    this.#collect([]);
  }

  /** The reply is missing or incomplete. */
  fail(why: string): void {
    if (this.#isBatch && !this.#response.headersSent) return this.#collect([]);
    replyText(this.#response, 502, why); // ends the connection if the stream has begun
  }

  /** The connection has ended, so the requests to the server end too. */
  disconnected(): void {
    for (const abort of this.#aborts) abort(new Error('the client has disconnected'));
  }

  onAbort(abort: (reason: Error) => void): () => void {
    if (this.#response.destroyed) abort(new Error('the client has disconnected'));
    this.#aborts.add(abort);
    return () => this.#aborts.delete(abort);
  }

  keepAlive(): void {
    if (this.#isStream) this.#response.write(keepAliveComment);
  }

  #collect(answers: readonly string[]): void {
    if (this.#isStream) for (const data of answers) this.event({ data })?.catch(raiseFault);
    else this.#answers.push(...answers);
    if (--this.#missing > 0) return;
    if (this.#isStream) this.#response.end();
    else if (this.#answers.length === 0) this.#response.writeHead(202).end();
    else
      this.#response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`[${this.#answers.join(',')}]`);
  }
}

/** Returns headers whose names and values stand one after the other. */
function withoutLength(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const [name = '', value = ''] = [headers[i], headers[i + 1]];
    if (name !== 'content-length') kept.push(name, value);
  }
  return kept;
}
