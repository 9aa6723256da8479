import { setTimeout as delay } from 'node:timers/promises';
import { raiseFault } from '@toolhive/contract/fault';
import { messageOf } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { ExceededBudget } from '../input/byte-budget.ts';
import { errorCodes, errorMessage, noAnswer } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { escaped } from '@toolhive/contract/printable';
import { ownPath } from './own-address.ts';
import { Cookies } from './cookies.ts';
import { describeAnswer } from './received.ts';
import { sessionState } from './session-end.ts';
import { readEvents } from './events.ts';
import type { UpstreamClient } from './upstream-client.ts';
import type { TransportListener, Transport } from './transport.ts';

/** How long a message waits for the response to the one before. */
const acceptMs = 1_000;

/**
 * Reaches a server over HTTP+SSE (MCP 2024-11-05, Transports): the server sends on one stream and receives POST
 * requests.
 */
export class SseTransport implements Transport {
  readonly unreadBytes = 0;
  readonly #endpoint: UpstreamClient;
  readonly #over = new AbortController();
  /** The path for messages, as soon as the server has named it. */
  readonly #path = Promise.withResolvers<string>();
  #listener: TransportListener | undefined;
  /** Messages go out in the order in which they were sent. */
  readonly #sent = new SerialQueue();
  readonly #cookies = new Cookies();
  /** The server has accepted a message. */
  #hasWorked = false;

  constructor(endpoint: UpstreamClient) {
    this.#endpoint = endpoint;
    this.#path.promise.catch(() => {}); // reported to the senders
  }

  open(listener: TransportListener): void {
    this.#listener = listener;
    void this.#listen().then(
      () => this.#end('its stream has ended'),
      (error: unknown) => {
        if (error instanceof ExceededBudget) this.#listener?.exceeded(error.message);
        this.#end(messageOf(error));
      },
    );
  }

  agree(): void {}

  send(message: Message): void {
    this.#sent.run(() => this.#postInOrder(message)).catch(raiseFault);
  }

  async close(): Promise<void> {
    this.#listener = undefined;
    this.#over.abort(new Error('the conversation is over'));
  }

  async #listen(): Promise<void> {
    const { statusCode, headers, body } = await this.#endpoint.request({
      method: 'GET',
      headers: { accept: 'text/event-stream' },
      signal: this.#over.signal,
    });
    this.#cookies.take(headers);
    if (typeof body === 'string') throw new Error(`the server returned status ${statusCode}`);
    for await (const { event, data } of readEvents(body, this.#endpoint.input)) {
      if (event === 'endpoint') this.#path.resolve(this.#own(data));
      else if (data !== '') this.#listener?.message(data);
    }
  }

  /** The path must be on the same server, so that no other one gets the messages and credentials. */
  #own(told: string): string {
    const { origin, path, isLocal, input } = this.#endpoint;
    const address = told.trim().replace(/^"(.*)"$/, '$1');
    const own = ownPath(address, path, { origin, isLocal });
    const where = URL.parse(address, new URL(path, origin).href);
    if (own === undefined)
      throw new Error(
        `the server sends messages to another origin: ${where?.origin ?? escaped(told.slice(0, 200))}`,
      );
    if (where?.origin !== origin) input.tolerate('address');
    return own;
  }

  /**
   * Sends a message, and returns when the server has accepted it. Some servers do so only after they have answered on the
   * stream, and meanwhile wait for other messages, so the next one is not held up for long.
   */
  async #postInOrder(message: Message): Promise<void> {
    const over = new AbortController();
    const posted = this.#post(message)
      .catch((error: unknown) => this.#failed(message, messageOf(error)))
      .finally(() => over.abort());
    const signal = AbortSignal.any([over.signal, this.#over.signal]);
    await Promise.race([posted, delay(acceptMs, undefined, { signal }).catch(() => {})]);
  }

  async #post({ text, value }: Message): Promise<void> {
    const answer = await this.#endpoint.request({
      method: 'POST',
      path: await this.#path.promise,
      headers: { 'content-type': 'application/json', ...this.#cookies.headers },
      body: text,
      executes: value.method === 'tools/call',
      signal: this.#over.signal,
    });
    const { statusCode, body } = answer;
    this.#cookies.take(answer.headers);
    if (typeof body !== 'string') {
      body.destroy(); // the answer comes on the other stream
    } else if (statusCode < 300) {
      this.#hasWorked = true;
    } else if (this.#hasWorked && sessionState({ statusCode, text: body }, false) === 'ended') {
      this.#end('the server ended the session'); // the next message opens another stream, with another session
    } else throw new Error(describeAnswer(answer, body, this.#endpoint));
  }

  #failed({ kind, value }: Message, why: string): void {
    if (kind !== 'request' || typeof value.id !== 'number') return;
    const answer = errorMessage(String(value.id), errorCodes.serverError, `${noAnswer}: ${why}`);
    this.#listener?.message(answer);
  }

  #end(reason: string): void {
    this.#path.reject(new Error(reason));
    this.#listener?.closed(reason);
  }
}
