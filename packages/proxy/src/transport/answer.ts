import { isAscii, isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import type { Transform } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Connections } from './live-connections.ts';
import { ExceededBudget, messageTooLarge } from '../input/byte-budget.ts';
import type { ByteBudget } from '../input/byte-budget.ts';
import { Chunks } from '../input/chunks.ts';
import { decodedHeaders, decoderFor } from './content-coding.ts';
import { eventStreamType, mediaTypeOf } from './media-type.ts';

/** The headers of a response. A header that appears several times has several values. */
export type AnswerHeaders = Dispatcher.ResponseData['headers'];

/** A server's response. */
export interface Answer {
  statusCode: number;
  headers: AnswerHeaders;
  /** The whole body, or a stream of events. A stream that is not read must be destroyed. */
  body: string | Readable;
}

/** Sends a request and reads the response. Reads a response that is not a stream in one step, which is much cheaper. */
export function answerTo(
  connections: Connections,
  request: Dispatcher.DispatchOptions,
  options: AnswerOptions,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  dispatchTo(connections, request, options, { answered: resolve, failed: reject });
  return promise;
}

/** Receives a response or an error. Exactly one of them is called, once. */
export interface AnswerListener {
  answered: (answer: Answer) => void;
  failed: (error: Error) => void;
}

/** Does the same without a promise. */
export function dispatchTo(
  connections: Connections,
  request: Dispatcher.DispatchOptions,
  options: AnswerOptions,
  listener: AnswerListener,
): void {
  connections.dispatch(request, new AnswerReader(request.method, options, listener));
}

/** Something that can abort requests. An `AbortSignal` costs more than everything else here. */
export interface Aborter {
  /**
   * Calls `abort` with the reason, immediately if the signal has already aborted. Returns a function that prevents
   * the call.
   */
  onAbort(abort: (reason: Error) => void): () => void;
}

export interface AnswerOptions {
  aborter: Aborter;
  /** The budget for incomplete responses. */
  budget: ByteBudget;
}

class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #aborter: Aborter;
  readonly #chunks: Chunks;
  readonly #budget: ByteBudget;
  readonly #listener: AnswerListener;
  /** Prevents that the request is aborted. */
  #keep: (() => void) | undefined;
  #statusCode = 0;
  #headers: AnswerHeaders = {};
  #stream: Readable | undefined;
  /** Absent if the response is not compressed. */
  #decoder: Transform | undefined;
  /** Whether the whole response has arrived. */
  #isOver = false;

  constructor(method: string, { aborter, budget }: AnswerOptions, listener: AnswerListener) {
    this.#method = method;
    this.#aborter = aborter;
    this.#chunks = new Chunks(budget);
    this.#budget = budget;
    this.#listener = listener;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#keep = this.#aborter.onAbort((reason) => controller.abort(reason));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: AnswerHeaders,
  ): void {
    this.#statusCode = statusCode;
    this.#headers = headers;
    if (headers['content-encoding'] !== undefined) {
      try {
        this.#decode(controller);
      } catch (error) {
        return controller.abort(error as Error); // `decoderFor` throws nothing else
      }
    }
    const isEvents = statusCode < 300 && mediaTypeOf(headers) === eventStreamType;
    // Only streams use GET, whatever their media type.
    if (!isEvents && !(statusCode === 200 && this.#method === 'GET')) return;
    const body = new Readable({
      read: () => (this.#decoder ?? controller).resume(),
      destroy: (error, done) => {
        this.#decoder?.destroy();
        if (!this.#isOver) controller.abort(error ?? new Error('the answer has no reader'));
        done(error);
      },
    });
    this.#stream = body;
    this.#listener.answered({ statusCode, headers: this.#headers, body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#decoder === undefined) this.#add(controller, controller, chunk);
    else if (!this.#decoder.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#isOver = true;
    if (this.#decoder === undefined) this.#end();
    else this.#decoder.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#decoder?.destroy();
    if (this.#stream !== undefined) this.#stream.destroy(error);
    // A message that was accepted is accepted, also if a proxy cuts off the words that say so.
    else if (this.#statusCode === 202 && isCutOff(error)) return this.#end();
    else this.#listener.failed(error);
    this.#forget();
  }

  /** Puts a decoder between the response and its reader if the server has compressed the response. */
  #decode(controller: Dispatcher.DispatchController): void {
    const decoder = decoderFor(this.#headers, this.#budget);
    if (decoder === undefined) return;
    this.#decoder = decoder;
    this.#headers = decodedHeaders(this.#headers);
    decoder.on('data', (chunk: Buffer) => this.#add(controller, decoder, chunk));
    decoder.on('drain', () => controller.resume());
    decoder.on('end', () => this.#end());
    decoder.on('error', (cause) =>
      this.#abort(controller, new Error('the compressed response of the server is damaged', { cause })),
    );
  }

  #add(controller: Dispatcher.DispatchController, source: { pause(): void }, chunk: Buffer): void {
    if (this.#stream !== undefined) {
      if (!this.#stream.destroyed && !this.#stream.push(chunk)) source.pause();
      return;
    }
    const excess = this.#chunks.add(chunk);
    if (excess === 'too large')
      this.#abort(controller, new Error(`the server sends a message that is ${messageTooLarge}`));
    else if (excess === 'no room') this.#abort(controller, new ExceededBudget());
  }

  #end(): void {
    const body = this.#chunks.joined();
    this.#forget();
    if (this.#stream !== undefined) {
      if (!this.#stream.destroyed) this.#stream.push(null);
      return;
    }
    this.#listener.answered({
      statusCode: this.#statusCode,
      headers: this.#headers,
      body: textOf(body, this.#headers),
    });
  }

  /** A response that has arrived cannot be aborted any more, but its decoder may still run. */
  #abort(controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) this.onResponseError(controller, error);
    else controller.abort(error);
  }

  /** What can abort may outlive many requests. */
  #forget(): void {
    this.#chunks.release();
    this.#keep?.();
  }
}

/** Aborts requests when a signal does. All its reasons must be errors. */
export function abortedBy(signal: AbortSignal): Aborter {
  return {
    onAbort(abort) {
      const listener = (): void => abort(signal.reason as Error);
      if (signal.aborted) listener();
      else signal.addEventListener('abort', listener);
      return () => signal.removeEventListener('abort', listener);
    },
  };
}

const decoder = new TextDecoder();

/** The encodings other than UTF-8 that the first bytes of a JSON text show (RFC 4627, section 3). */
const wideEncodings: Readonly<Record<string, string | undefined>> = {
  fffe: 'utf-16le',
  feff: 'utf-16be',
  '7b00': 'utf-16le',
  '007b': 'utf-16be',
  '5b00': 'utf-16le',
  '005b': 'utf-16be',
};

/** Decodes a body. Most are ASCII, and a `TextDecoder` makes strings with two bytes a character, which are slow to use. */
function textOf(body: Buffer, headers: AnswerHeaders): string {
  const wide = body.length < 2 ? undefined : wideEncodings[body.toString('hex', 0, 2)];
  if (wide !== undefined) return new TextDecoder(wide).decode(body);
  if (isAscii(body)) return body.toString('latin1');
  return !isUtf8(body) && isNamedLatin1(headers) ? latin1.decode(body) : decoder.decode(body);
}

const latin1 = new TextDecoder('latin1');

/** Servlet containers use this encoding by default, and many servers name it by mistake. */
function isNamedLatin1({ 'content-type': type }: AnswerHeaders): boolean {
  return /;\s*charset="?(?:iso-8859-1|latin-?1|windows-1252)\b/i.test(String(type ?? ''));
}

/** Whether the server closed the connection before the end of its response. */
function isCutOff(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'UND_ERR_SOCKET';
}
