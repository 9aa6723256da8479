import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { raiseFault } from '@toolhive/contract/fault';
import { PassingMap } from '@toolhive/contract/passing';
import { messageOf } from '@toolhive/contract/failure';
import type { Dispatcher } from 'undici';
import { encoded, nameParameter } from '../protocol/header-values.ts';
import { isMirrorable, mirroredValue } from '../protocol/mirrored-parameters.ts';
import type { MirroredParameter } from '../protocol/mirrored-parameters.ts';
import { ExceededBudget } from '../input/byte-budget.ts';
import { errorCodes, errorMessage, idText, isObject, noAnswer, resultMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { modernVersion } from '../protocol/protocol.ts';
import type { ProtocolGeneration } from '../protocol/protocol.ts';
import type { Answer } from './answer.ts';
import { readEvents } from './events.ts';
import { Cookies } from './cookies.ts';
import { HttpSession, firstRetryMs, maxRetryMs } from './http-session.ts';
import { mediaTypeOf } from './media-type.ts';
import { askedPauseMs } from './pause.ts';
import { asAnswer, describeAnswer, isAnswer, readAll, readBody, requestIdOf, shown } from './received.ts';
import type { OnTolerance, RequestId } from './received.ts';
import type { UpstreamClient, UpstreamRequest } from './upstream-client.ts';
import type { EarlierSession, Transport, TransportListener } from './transport.ts';

export interface HttpTransportOptions {
  endpoint: UpstreamClient;
  generation: ProtocolGeneration;
  /** The session to continue. By default, `initialize` begins one. */
  earlier?: EarlierSession | undefined;
  /** Returns the parameters of a tool that are mirrored in headers. */
  mirrored: (tool: string) => Promise<readonly MirroredParameter[]>;
}

/** How often a stream is resumed before its answer is given up. */
const maxResumptions = 20;

/** How long a server may leave a notification without a response before the next message is sent. */
const acceptMs = 3_000;

/** How long another session may take to begin. The user may have to sign in for it. */
const renewalMs = 300_000;

/** Reaches a server over streamable HTTP, of either generation: every message is a POST. */
export class HttpTransport implements Transport {
  /** Each message has its own HTTP request, so no message waits here. */
  readonly unreadBytes = 0;
  readonly #options: HttpTransportOptions;
  readonly #over = new AbortController();
  /** The pending requests, and how to abort them. */
  readonly #posts = new PassingMap<Message, AbortController>();
  #listener: TransportListener | undefined;
  /** The agreed protocol version. None before the handshake with a legacy server. */
  #version: string | undefined;
  readonly #session: HttpSession;
  readonly #tolerate: OnTolerance = (tolerance) => this.#options.endpoint.input.tolerate(tolerance);
  readonly #cookies = new Cookies();
  /** A legacy server must get `notifications/initialized` before anything else. */
  #initialized: Promise<void> | undefined;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    if (options.generation === 'modern') this.#version = modernVersion;
    this.#session = new HttpSession({
      input: options.endpoint.input,
      post: (message, signal) => this.#send(message, signal),
      openStream: (headers, signal) => this.#request('GET', { headers, signal, isOptional: true }),
      listener: () => this.#listener,
      signal: this.#over.signal,
      renewalMs,
      acceptMs,
    });
    if (options.earlier !== undefined) this.#session.resume(options.earlier);
  }

  get session(): string | undefined {
    return this.#session.id;
  }

  get #isModern(): boolean {
    return this.#options.generation === 'modern';
  }

  open(listener: TransportListener): void {
    this.#listener = listener;
  }

  agree(revision: string): void {
    this.#version = revision;
    if (this.#options.earlier !== undefined) this.#session.listen().catch(() => {}); // ends with the connection
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
    const accepted = Promise.withResolvers<void>();
    this.#post(message, { accepted: accepted.resolve })
      .catch((error: unknown) => this.#failed(message, messageOf(error)))
      .finally(accepted.resolve)
      .catch(raiseFault);
    if (method !== 'notifications/initialized') return;
    // Some servers keep the response open as a stream, or never respond.
    const silence = delay(acceptMs, undefined, { signal: this.#over.signal, ref: false });
    this.#initialized = Promise.race([accepted.promise, silence]).catch(() => {});
    void this.#initialized.then(() => this.#session.listen()).catch(() => {});
  }

  async close({ keepsSession = false }: { keepsSession?: boolean } = {}): Promise<void> {
    if (this.#over.signal.aborted) return;
    this.#listener = undefined;
    const reason = new Error('the conversation is over');
    this.#over.abort(reason);
    for (const post of this.#posts.values()) post.abort(reason);
    if (this.#session.id === undefined || keepsSession) return;
    const signal = AbortSignal.timeout(2_000);
    await this.#request('DELETE', { signal, headers: {} }).catch(() => {}); // the server may be gone
  }

  /** `accepted` is called as soon as the server begins to respond. */
  async #post(message: Message, { accepted, isRepeated = false }: PostOptions): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    this.#posts.set(message, over);
    if (this.#session.renewing !== undefined) await this.#session.renewing;
    const session = this.#session.current;
    try {
      if (message.value.method !== 'notifications/initialized') await this.#initialized;
      const answer = await this.#send(message, signal);
      accepted();
      if ((await this.#receive(message, answer, signal)) !== 'session ended') return;
      // The server has not executed the request, so it can be repeated once in a new session.
      if (!isRepeated && (await this.#session.renew(session)))
        return await this.#post(message, { accepted, isRepeated: true });
      this.#listener?.closed('the server ended the session');
    } catch (error) {
      if (error instanceof ExceededBudget) this.#listener?.exceeded(error.message);
      if (!signal.aborted) throw error;
    } finally {
      if (this.#posts.get(message) === over) this.#posts.delete(message);
    }
  }

  async #send(message: Message, signal: AbortSignal): Promise<Answer> {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(this.#isModern ? await this.#described(message) : {}),
    };
    const executes = message.value.method === 'tools/call';
    return this.#request('POST', { headers, body: message.text, signal, executes });
  }

  async #receive(message: Message, answer: Answer, signal: AbortSignal): Promise<Received> {
    const { statusCode, headers, body } = answer;
    const { method } = message.value;
    const id = requestIdOf(message);
    if (method === 'initialize') this.#session.begin(message, headers);
    if (typeof body !== 'string') return this.#hearStream(message, id, body, signal);
    if (id === undefined) return undefined;
    await this.#options.endpoint.input.turn();
    const said = readBody(body, id, this.#tolerate);
    const own = said.answer !== undefined && isAnswer(said.answer, id) ? said.answer : undefined;
    const isRefused = own === undefined || own.value.error !== undefined;
    if (isRefused && (await this.#session.hasEnded(message, { statusCode, text: body }, own)))
      return 'session ended';
    for (const other of said.others) this.#hear(other, id);
    if (said.answer === undefined) {
      const why = describeAnswer(answer, body, this.#options.endpoint);
      const retryAfterMs = askedPauseMs(answer);
      const fail = (): void => this.#failed(message, why, retryAfterMs);
      const mayFollow = statusCode === 202 && body.trim() === '';
      if (!mayFollow || !this.#session.expect(id, { isAccepted: true, fail })) fail();
      return undefined;
    }
    if (!mediaTypeOf(headers).endsWith('json')) this.#tolerate('mediaType');
    this.#hear(this.#admissible(said.answer, message), id);
    return undefined;
  }

  /** Reads a stream until the answer. A stream that ends before is resumed if possible. */
  async #hearStream(
    message: Message,
    id: RequestId | undefined,
    first: Readable,
    signal: AbortSignal,
  ): Promise<Received> {
    let body = first;
    let lastId: string | undefined;
    let retryMs = firstRetryMs;
    let other = '';
    for (let attempt = 0; attempt <= maxResumptions; attempt++) {
      try {
        for await (const event of readEvents(body, this.#options.endpoint.input)) {
          lastId = event.id ?? lastId;
          if (event.data === '') continue;
          for (const part of readAll(event.data, this.#tolerate)) {
            const said = id === undefined ? part : asAnswer(part, id);
            const isOver = id !== undefined && isAnswer(said, id);
            const isRefused = isOver && said.value.error !== undefined;
            const whole = { statusCode: 200, text: event.data };
            if (isRefused && (await this.#session.hasEnded(message, whole, said))) return 'session ended';
            this.#hear(this.#admissible(said, message), id);
            if (isOver) return undefined;
            if (typeof said === 'string') other = said;
          }
        }
      } catch (error) {
        if (signal.aborted || lastId === undefined || error instanceof ExceededBudget) throw error;
      }
      if (id === undefined) return undefined;
      if (lastId === undefined || this.#isModern) break;
      await delay(retryMs, undefined, { signal });
      retryMs = Math.min(retryMs * 2, maxRetryMs);
      const headers = { accept: 'text/event-stream', 'last-event-id': lastId };
      const response = await this.#request('GET', { headers, signal });
      if (typeof response.body === 'string') break;
      body = response.body;
    }
    if (id === undefined) return undefined;
    const why = `its stream ended before the answer${other === '' ? '' : `: ${shown(other)}`}`;
    const fail = (): void => this.#failed(message, why);
    if (this.#isModern || !this.#session.expect(id, { isAccepted: false, fail })) fail();
    return undefined;
  }

  async #request(
    method: Dispatcher.HttpMethod,
    { headers, ...request }: Pick<UpstreamRequest, 'headers' | 'body' | 'signal' | 'executes' | 'isOptional'>,
  ): Promise<Answer> {
    const described: Record<string, string> = {
      ...(this.#session.id === undefined ? {} : { 'mcp-session-id': this.#session.id }),
      ...(this.#version === undefined ? {} : { 'mcp-protocol-version': this.#version }),
    };
    const answer = await this.#options.endpoint.request({
      method,
      ...request,
      headers: { ...headers, ...described, ...this.#cookies.headers },
    });
    this.#cookies.take(answer.headers);
    return answer;
  }

  /** Returns the headers that repeat parts of a modern message (MCP 2026-07-28, Streamable HTTP, Request Metadata). */
  async #described({ value }: Message): Promise<Record<string, string>> {
    const { method, params } = value;
    if (method === undefined) return {};
    const name = params?.[nameParameter(method) ?? ''];
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
  #failed(message: Message, why: string, retryAfterMs?: number): void {
    const id = requestIdOf(message);
    if (id === undefined) return;
    const text = `${noAnswer}: ${why}`;
    const data = retryAfterMs === undefined ? undefined : { retryAfterMs };
    this.#hear(errorMessage(JSON.stringify(id), errorCodes.serverError, text, data), id);
  }

  #hear(said: string | Message, id: RequestId | undefined): void {
    this.#listener?.message(said, typeof id === 'number' ? id : undefined);
  }
}

type Received = 'session ended' | undefined;

interface PostOptions {
  accepted: () => void;
  isRepeated?: boolean;
}
