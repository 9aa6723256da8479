import { isAscii } from 'node:buffer';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { ExceededBudget } from '../input/byte-budget.ts';
import type { ByteBudget } from '../input/byte-budget.ts';
import { Chunks } from '../input/chunks.ts';

/** The headers of a response. A header that appears several times has several values. */
export type AnswerHeaders = Dispatcher.ResponseData['headers'];

/** A server's response. */
export interface Answer {
  statusCode: number;
  headers: AnswerHeaders;
  /** The whole body, or a stream of events. A stream that is not read must be destroyed. */
  body: string | Readable;
}

/** Sends a request and reads the response, at once if it is not a stream, which costs much less. */
export function answerTo(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { signal, budget }: AnswerOptions,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  dispatcher.dispatch(request, new AnswerReader(request.method, { signal, budget }, resolve, reject));
  return promise;
}

export interface AnswerOptions {
  signal: AbortSignal;
  /** The budget for incomplete responses. */
  budget: ByteBudget;
}

class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #signal: AbortSignal;
  readonly #chunks: Chunks;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  #abort: (() => void) | undefined;
  #statusCode = 0;
  #headers: AnswerHeaders = {};
  #stream: Readable | undefined;
  #isOver = false;

  constructor(
    method: string,
    { signal, budget }: AnswerOptions,
    resolve: (answer: Answer) => void,
    reject: (error: Error) => void,
  ) {
    this.#method = method;
    this.#signal = signal;
    this.#chunks = new Chunks(budget);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#abort = () => controller.abort(this.#signal.reason as Error); // all reasons here are errors
    if (this.#signal.aborted) this.#abort();
    else this.#signal.addEventListener('abort', this.#abort);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: AnswerHeaders,
  ): void {
    this.#statusCode = statusCode;
    this.#headers = headers;
    const isEvents = statusCode < 300 && String(headers['content-type']).startsWith('text/event-stream');
    // Only streams are requested by GET, whatever their media type.
    if (!isEvents && !(statusCode === 200 && this.#method === 'GET')) return;
    const body = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        if (!this.#isOver) controller.abort(error ?? new Error('nobody reads the answer'));
        done(error);
      },
    });
    this.#stream = body;
    this.#resolve({ statusCode, headers, body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stream !== undefined) {
      if (!this.#stream.destroyed && !this.#stream.push(chunk)) controller.pause();
      return;
    }
    const excess = this.#chunks.add(chunk);
    if (excess === 'too large') controller.abort(new Error('the server sends a message that is too large'));
    else if (excess === 'no room') controller.abort(new ExceededBudget());
  }

  onResponseEnd(): void {
    this.#isOver = true;
    const body = this.#chunks.joined();
    this.#forget();
    if (this.#stream !== undefined) {
      if (!this.#stream.destroyed) this.#stream.push(null);
      return;
    }
    this.#resolve({ statusCode: this.#statusCode, headers: this.#headers, body: textOf(body) });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#forget();
    if (this.#stream === undefined) this.#reject(error);
    else this.#stream.destroy(error);
  }

  /** A signal may outlive many requests. */
  #forget(): void {
    this.#chunks.release();
    if (this.#abort !== undefined) this.#signal.removeEventListener('abort', this.#abort);
  }
}

const decoder = new TextDecoder();

/** Decodes a body. Most are ASCII, and a `TextDecoder` makes strings with two bytes a character, which are slow to use. */
function textOf(body: Buffer): string {
  return isAscii(body) ? body.toString('latin1') : decoder.decode(body);
}
