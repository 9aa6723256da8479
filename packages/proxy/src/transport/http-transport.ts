import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '@toolhive/contract/failure';
import type { Dispatcher } from 'undici';
import { encoded, namedBy } from '../protocol/header-values.ts';
import { isMirrorable, mirroredValue } from '../protocol/mirrored-parameters.ts';
import type { MirroredParameter } from '../protocol/mirrored-parameters.ts';
import { ExceededBudget } from '../input/byte-budget.ts';
import {
  errorCodes,
  errorMessage,
  idText,
  isObject,
  readMessage,
  resultMessage,
} from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { modernVersion } from '../protocol/protocol.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';
import type { Answer } from './answer.ts';
import { readEvents } from './events.ts';
import type { UpstreamClient } from './upstream-client.ts';
import type { TransportListener, Transport } from './transport.ts';

export interface HttpTransportOptions {
  endpoint: UpstreamClient;
  generation: ProtocolGeneration;
  /** Returns the parameters of a tool that are mirrored in headers. */
  mirrored: (tool: string) => Promise<readonly MirroredParameter[]>;
}

/** How long to wait before a stream that has ended is opened again. */
const firstRetryMs = 500;
const maxRetryMs = 30_000;
/** How often a stream is resumed before its answer is given up. */
const maxResumptions = 20;

/** Reaches a server over streamable HTTP, of either generation: every message is a POST. */
export class HttpTransport implements Transport {
  /** Each message has its own HTTP request, so no message waits here. */
  readonly unreadBytes = 0;
  readonly #options: HttpTransportOptions;
  readonly #over = new AbortController();
  /** The pending requests, and how to abort them. */
  readonly #posts = new Map<Message, AbortController>();
  #listener: TransportListener | undefined;
  /** The agreed protocol version. None before the handshake with a legacy server. */
  #version: string | undefined;
  #sessionId: string | undefined;
  /** A legacy server must get `notifications/initialized` before anything else. */
  #initialized: Promise<void> | undefined;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    if (options.generation === 'modern') this.#version = modernVersion;
  }

  get #isModern(): boolean {
    return this.#options.generation === 'modern';
  }

  open(listener: TransportListener): void {
    this.#listener = listener;
  }

  agree(revision: string): void {
    this.#version = revision;
  }

  send(message: Message): void {
    const { method, params } = message.value;
    if (method === 'notifications/cancelled' && this.#isModern) {
      // Ending the request cancels it (MCP 2026-07-28, Streamable HTTP, Cancellation).
      const requestId = params?.['requestId'];
      for (const [sent, post] of this.#posts)
        if (sent.value.id === requestId) post.abort(new Error('cancelled'));
      return;
    }
    const sent = this.#post(message).catch((error: unknown) => this.#failed(message, messageOf(error)));
    if (method !== 'notifications/initialized') return;
    this.#initialized = sent;
    void sent.then(() => this.#listen()).catch(() => {});
  }

  async close(): Promise<void> {
    if (this.#over.signal.aborted) return;
    this.#listener = undefined;
    const reason = new Error('the conversation is over');
    this.#over.abort(reason);
    for (const post of this.#posts.values()) post.abort(reason);
    if (this.#sessionId === undefined) return;
    const signal = AbortSignal.timeout(2_000);
    await this.#request('DELETE', { signal, headers: {} }).catch(() => {}); // the server may be gone
  }

  async #post(message: Message): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    this.#posts.set(message, over);
    try {
      if (message.value.method !== 'notifications/initialized') await this.#initialized;
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(this.#isModern ? await this.#described(message) : {}),
      };
      const answer = await this.#request('POST', { headers, body: message.text, signal });
      await this.#receive(message, answer, signal);
    } catch (error) {
      if (error instanceof ExceededBudget) this.#listener?.exceeded(error.message);
      if (!signal.aborted) throw error;
    } finally {
      this.#posts.delete(message);
    }
  }

  async #receive(
    message: Message,
    { statusCode, headers, body }: Answer,
    signal: AbortSignal,
  ): Promise<void> {
    const { method } = message.value;
    const id = idOf(message);
    const session = headers['mcp-session-id'];
    if (method === 'initialize' && typeof session === 'string') this.#sessionId = session;
    const type = String(headers['content-type'] ?? '');
    if (typeof body !== 'string') return this.#hearStream(message, id, body, signal);
    if (id === undefined) return;
    await this.#options.endpoint.input.turn();
    const isJson = type.startsWith('application/json');
    // A server may report the end of a session as an error without an ID, which is not an answer (MCP 2025-03-26,
    // Streamable HTTP, Session Management).
    const isAnswered = isJson && statusCode === 404 && isAnswer(read(body), id);
    if (statusCode === 404 && this.#sessionId !== undefined && !isAnswered)
      return this.#listener?.closed('the server ended the session');
    const answer = isJson ? answerIn(body, id) : undefined;
    if (answer !== undefined) return this.#hear(this.#admissible(answer, message), id);
    const said = body.trim().slice(0, 200);
    this.#failed(message, `the server returned status ${statusCode}${said === '' ? '' : `: ${said}`}`);
  }

  /** Reads a stream until the answer. A stream that ends before is resumed if possible. */
  async #hearStream(
    message: Message,
    id: RequestId | undefined,
    first: Readable,
    signal: AbortSignal,
  ): Promise<void> {
    let body = first;
    let lastId: string | undefined;
    let retryMs = firstRetryMs;
    for (let attempt = 0; attempt <= maxResumptions; attempt++) {
      try {
        for await (const event of readEvents(body, this.#options.endpoint.input)) {
          lastId = event.id ?? lastId;
          if (event.data === '') continue;
          const said = this.#admissible(read(event.data), message);
          this.#hear(said, id);
          if (id !== undefined && isAnswer(said, id)) return;
        }
      } catch (error) {
        if (signal.aborted || lastId === undefined || error instanceof ExceededBudget) throw error;
      }
      if (id === undefined) return;
      if (lastId === undefined || this.#isModern) break;
      await delay(retryMs, undefined, { signal });
      retryMs = Math.min(retryMs * 2, maxRetryMs);
      const headers = { accept: 'text/event-stream', 'last-event-id': lastId };
      const response = await this.#request('GET', { headers, signal });
      if (typeof response.body === 'string') break;
      body = response.body;
    }
    this.#failed(message, 'its stream ended before the answer');
  }

  /**
   * Keeps the stream open on which a legacy server sends messages that belong to no request, if the server has such a
   * stream.
   */
  async #listen(): Promise<void> {
    const { signal } = this.#over;
    let lastId: string | undefined;
    for (let retryMs = firstRetryMs; !signal.aborted; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
      const resumed: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
      const headers = { accept: 'text/event-stream', ...resumed };
      try {
        const { body } = await this.#request('GET', { headers, signal });
        if (typeof body === 'string') return; // 405: the server has no such stream
        for await (const event of readEvents(body, this.#options.endpoint.input)) {
          retryMs = firstRetryMs;
          lastId = event.id ?? lastId;
          if (event.data !== '') this.#listener?.message(event.data);
        }
      } catch (error) {
        if (error instanceof ExceededBudget) return this.#listener?.exceeded(error.message);
        // The stream is reopened, and the event ID requests the missed events.
      }
      await delay(retryMs, undefined, { signal });
    }
  }

  async #request(
    method: Dispatcher.HttpMethod,
    { headers, body, signal }: { headers: Record<string, string>; body?: string; signal: AbortSignal },
  ): Promise<Answer> {
    const described: Record<string, string> = {
      ...(this.#sessionId === undefined ? {} : { 'mcp-session-id': this.#sessionId }),
      ...(this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version }),
    };
    return this.#options.endpoint.request({
      method,
      body,
      signal,
      headers: { ...headers, ...described },
    });
  }

  /** Returns the headers that repeat parts of a modern message (MCP 2026-07-28, Streamable HTTP, Request Metadata). */
  async #described({ value }: Message): Promise<Record<string, string>> {
    const { method, params } = value;
    if (method === undefined) return {};
    const name = params?.[namedBy[method] ?? ''];
    const mirrored =
      method === 'tools/call' && typeof name === 'string' ? await this.#options.mirrored(name) : [];
    const parameters = mirrored.flatMap(({ header, path }) => {
      const told = mirroredValue(params?.['arguments'], path);
      return told === undefined ? [] : [[header, encoded(told)] as const];
    });
    return {
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': encoded(name) } : {}),
      ...Object.fromEntries(parameters),
    };
  }

  /** Excludes tools from a list that cannot be called over this transport. */
  #admissible(said: string | Message, { value: { method } }: Message): string | Message {
    if (!this.#isModern || method !== 'tools/list' || typeof said === 'string') return said;
    const { result } = said.value;
    if (said.kind !== 'response' || !isObject(result) || !Array.isArray(result['tools'])) return said;
    const tools = result['tools'].filter((tool) => !isObject(tool) || isMirrorable(tool['inputSchema']));
    return tools.length === result['tools'].length ? said : resultMessage(idText(said), { ...result, tools });
  }

  /** Answers a request in the server's place. */
  #failed(message: Message, why: string): void {
    const id = idOf(message);
    if (id === undefined) return;
    const text = `the server gave no answer: ${why}`;
    this.#hear(errorMessage(JSON.stringify(id), errorCodes.serverError, text), id);
  }

  #hear(said: string | Message, id: RequestId | undefined): void {
    this.#listener?.message(said, typeof id === 'number' ? id : undefined);
  }
}

type RequestId = string | number;

/** Returns the message ID if the message is a request. */
function idOf({ value: { id, method } }: Message): RequestId | undefined {
  return method === undefined ? undefined : id;
}

/** Reads a message. The receiver reports text that is not a message. */
function read(text: string): string | Message {
  try {
    return readMessage(text);
  } catch {
    return text;
  }
}

function isAnswer(said: string | Message, id: RequestId): boolean {
  return typeof said !== 'string' && said.kind === 'response' && said.value.id === id;
}

/** Reads a response as the answer to this request. A server that refuses one may not repeat its ID. */
function answerIn(text: string, id: RequestId): string | Message | undefined {
  const said = read(text);
  if (isAnswer(said, id)) return said;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || (value['error'] === undefined && value['result'] === undefined)) return undefined;
  return value['id'] === id ? text : JSON.stringify({ ...value, jsonrpc: '2.0', id });
}
