import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { unavailable } from '@toolhive/contract/failure';
import { errorCodes, errorMessage, idText, ownMessage, onOneLine, readMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { meta } from '../protocol/protocol.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';
import { UpstreamClient } from '../transport/upstream-client.ts';
import { HttpTransport } from '../transport/http-transport.ts';
import { readLines } from '../transport/lines.ts';
import { readClientLine, withOwnId } from './client-lines.ts';
import { withoutCredentials } from './endpoint.ts';

export interface StdioAdapterOptions {
  input: Readable;
  output: Writable;
  /** The URL of a workload's endpoint. */
  url: string;
  /** Receives input that is not a message. */
  onInvalidOutput: (line: string) => void;
  signal: AbortSignal;
  /** How much the client may leave unread. */
  maxUnreadBytes?: number;
}

/**
 * Connects a client that only supports stdio to a server behind a proxy. Every line is a message, which is forwarded
 * unchanged. Returns when the input has ended and every request has an answer, or when `signal` aborts. Throws
 * `unavailable` if the client does not read its messages, because memory for them is limited.
 */
export async function adaptStdio(options: StdioAdapterOptions): Promise<void> {
  const { input, output, url, onInvalidOutput, maxUnreadBytes = 64 * 1024 * 1024 } = options;
  await using endpoint = new UpstreamClient(withoutCredentials(url), '');
  const unread = new AbortController();
  const signal = AbortSignal.any([options.signal, unread.signal]);
  const write = (text: string): void => {
    if (signal.aborted) return;
    output.write(`${onOneLine(text)}\n`);
    if (output.writableLength > maxUnreadBytes) unread.abort();
  };
  const conversations: Record<ProtocolGeneration, Conversation> = {
    legacy: new Conversation('legacy', endpoint, write),
    modern: new Conversation('modern', endpoint, write),
  };
  const read = readLines(input, {
    input: endpoint.input,
    onExceeded: onInvalidOutput,
    onTooLong: () => onInvalidOutput('(a line that is too long)'),
    onLine(text) {
      const line = readClientLine(text);
      if (line.kind === 'invalid') return onInvalidOutput(text);
      if (line.kind === 'refused') return write(errorMessage(line.id, line.code, line.message).text);
      for (const message of line.messages) {
        const isModern = message.value.params?._meta?.[meta.protocolVersion] !== undefined;
        conversations[isModern ? 'modern' : 'legacy'].send(message);
      }
    },
  });
  if (!signal.aborted) await Promise.race([read, once(signal, 'abort')]);
  const all = Object.values(conversations);
  if (!signal.aborted) await Promise.all(all.map((conversation) => conversation.answered(signal)));
  await Promise.all(all.map((conversation) => conversation.close()));
  if (unread.signal.aborted) throw unavailable('the client does not read its messages');
}

/** The messages of one generation. If the proxy loses the session, a new session replaces it. */
class Conversation {
  readonly #generation: ProtocolGeneration;
  readonly #endpoint: UpstreamClient;
  readonly #write: (text: string) => void;
  readonly #pending = new Set<string>();
  #transport: HttpTransport;
  #initialize: Message | undefined;
  /** A session replaces another one, so the answer to its `initialize` is not for the client. */
  #isSilent = false;
  #whenAnswered: (() => void) | undefined;

  constructor(generation: ProtocolGeneration, endpoint: UpstreamClient, write: (text: string) => void) {
    this.#generation = generation;
    this.#endpoint = endpoint;
    this.#write = write;
    this.#transport = this.#open();
  }

  send(message: Message): void {
    if (message.kind === 'request') this.#pending.add(idText(message));
    if (message.value.method === 'initialize') this.#initialize = message;
    this.#transport.send(message);
  }

  /** Returns when every request is answered. */
  async answered(signal: AbortSignal): Promise<void> {
    if (this.#pending.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#whenAnswered = resolve;
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #open(): HttpTransport {
    const transport = new HttpTransport({
      endpoint: this.#endpoint,
      generation: this.#generation,
      mirrored: async () => [],
    });
    transport.open({
      message: (received) => this.#receive(received),
      unreadable() {},
      exceeded: () => this.#begin(),
      closed: () => this.#begin(),
    });
    return transport;
  }

  #receive(received: string | Message): void {
    let message: Message;
    try {
      message = typeof received === 'string' ? readMessage(received) : received;
    } catch {
      return; // the client could not understand the message either
    }
    if (message.kind === 'response') {
      const id = idText(message);
      const isInitialize = this.#initialize !== undefined && id === idText(this.#initialize);
      if (isInitialize) this.#agree(message.value.result);
      if (isInitialize && this.#isSilent) return this.#transport.send(initialized);
      this.#pending.delete(id);
    }
    this.#write(message.kind === 'response' ? withOwnId(message).text : message.text);
    if (this.#pending.size === 0) this.#whenAnswered?.();
  }

  #agree(result: unknown): void {
    const { protocolVersion } = (result ?? {}) as { protocolVersion?: unknown };
    if (typeof protocolVersion === 'string') this.#transport.agree(protocolVersion);
  }

  /** Pending requests are lost with the session. The client can send them again. */
  #begin(): void {
    const lost = [...this.#pending];
    this.#pending.clear();
    this.#transport.close().catch(() => {}); // it is of no use any more
    this.#transport = this.#open();
    for (const id of lost)
      this.#write(
        withOwnId(errorMessage(id, errorCodes.serverError, 'the session has ended, ask again')).text,
      );
    this.#whenAnswered?.();
    if (this.#initialize === undefined) return;
    this.#isSilent = true;
    this.#transport.send(this.#initialize);
  }
}

const initialized = ownMessage({ method: 'notifications/initialized' });
