import { setTimeout as delay } from 'node:timers/promises';
import { ExceededBudget } from '../input/byte-budget.ts';
import type { WorkloadInput } from '../input/workload-input.ts';
import { ownMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Answer, AnswerHeaders } from './answer.ts';
import { readEvents } from './events.ts';
import { eventStreamType, mediaTypeOf } from './media-type.ts';
import { isAnswer, readAll, readBody, requestIdOf } from './received.ts';
import type { OnTolerance, RequestId } from './received.ts';
import { sessionState } from './session-end.ts';
import type { EarlierSession, TransportListener } from './transport.ts';

/** How long to wait before a stream that has ended is opened again. */
export const firstRetryMs = 500;
export const maxRetryMs = 30_000;

/** How many answers are expected on the stream of a session at once. */
const maxExpected = 1000;

export interface HttpSessionOptions {
  input: WorkloadInput;
  post: (message: Message, signal: AbortSignal) => Promise<Answer>;
  openStream: (headers: Record<string, string>, signal: AbortSignal) => Promise<Answer>;
  listener: () => TransportListener | undefined;
  /** Aborts at the end of the connection. */
  signal: AbortSignal;
  /** How long a server may take to begin another session. Until then, all requests wait. */
  renewalMs: number;
  /** How long a server may leave a notification without a response before the next message is sent. */
  acceptMs: number;
}

/** One session, as the server knows it. */
interface Begun {
  /** Absent if the server has sessions without IDs, or none. */
  id: string | undefined;
  /** The `initialize` that began the session. */
  greeting: Message;
  /** Ends the stream of the session. */
  over: AbortController;
  stream: 'none' | 'opening' | 'open';
  /** The requests that the server may answer on the stream, each with the action if the stream ends before. */
  readonly expected: Map<RequestId, () => void>;
}

function begun(id: string | undefined, greeting: Message): Begun {
  return { id, greeting, over: new AbortController(), stream: 'none', expected: new Map() };
}

/** The session with a legacy server: its stream, and another session if the server has forgotten this one. */
export class HttpSession {
  readonly #options: HttpSessionOptions;
  readonly #tolerate: OnTolerance = (tolerance) => this.#options.input.tolerate(tolerance);
  #current: Begun | undefined;
  #renewing: Promise<boolean> | undefined;

  constructor(options: HttpSessionOptions) {
    this.#options = options;
  }

  get id(): string | undefined {
    return this.#current?.id;
  }

  /** Identifies the session. Undefined before the handshake. */
  get current(): object | undefined {
    return this.#current;
  }

  /** Settles when another session has begun. Undefined while none is about to. */
  get renewing(): Promise<boolean> | undefined {
    return this.#renewing;
  }

  /** Continues a session of an earlier connection. */
  resume({ id, greeting }: EarlierSession): void {
    this.#current = begun(id, greeting);
  }

  /** Takes the answer to `initialize`. */
  begin(greeting: Message, headers: AnswerHeaders): void {
    const id = headers['mcp-session-id'];
    this.#current = begun(typeof id === 'string' ? id : undefined, greeting);
  }

  /**
   * Whether the server has forgotten the session, and has not executed the request. An answer with the ID of the request
   * (`own`) may come from the tool, and a failure may have many causes, so another request shows whether the session
   * continues.
   */
  async hasEnded(
    { value: { method } }: Message,
    said: { statusCode: number; text: string },
    own: Message | undefined,
  ): Promise<boolean> {
    const session = this.#current;
    if (session === undefined || method === 'initialize') return false;
    if (own !== undefined && own.value.error === undefined) return false;
    const state = sessionState(said, own !== undefined);
    if (state === 'continues' || (state === 'ended' && session.id === undefined)) return false;
    if (state !== 'ended' && !(await this.#isGone(session))) return false;
    if (said.statusCode !== 404) this.#tolerate('sessionEnd');
    if (state !== 'fails') return true;
    await this.renew(session); // for the next request: this one may have been executed
    return false;
  }

  /** Begins another session in the place of one that has ended. Returns false if the server does not allow that. */
  renew(ended: object | undefined): Promise<boolean> {
    const session = this.#current;
    if (ended === undefined || session === undefined || this.#options.signal.aborted)
      return Promise.resolve(false);
    if (session !== ended) return Promise.resolve(true);
    this.#renewing ??= this.#begin(session)
      .catch(() => false)
      .finally(() => {
        this.#renewing = undefined;
      });
    return this.#renewing;
  }

  /**
   * Expects the answer to a request on the stream of the session, where some servers send all answers. `fail` is called if
   * the stream ends before. Returns false if no stream is open. A server that has accepted the request (`isAccepted`) keeps the
   * answer until the stream opens.
   */
  expect(id: RequestId, { isAccepted, fail }: { isAccepted: boolean; fail: () => void }): boolean {
    const session = this.#current;
    const isPossible = session?.stream === 'open' || (isAccepted && session?.stream === 'opening');
    if (session === undefined || !isPossible || session.expected.size >= maxExpected) return false;
    session.expected.set(id, fail);
    return true;
  }

  /**
   * Keeps the stream open on which a legacy server sends messages that belong to no request, if the server has such a
   * stream.
   */
  async listen(): Promise<void> {
    const { signal: whole, input, openStream, listener } = this.#options;
    const session = this.#current;
    if (session === undefined) return;
    const signal = AbortSignal.any([whole, session.over.signal]);
    let lastId: string | undefined;
    for (let retryMs = firstRetryMs; !signal.aborted; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
      const resumed: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
      try {
        session.stream = 'opening';
        const { headers, body } = await openStream({ accept: 'text/event-stream', ...resumed }, signal);
        if (typeof body === 'string') return; // 405: the server has no such stream
        session.stream = 'open';
        let isStream = mediaTypeOf(headers) === eventStreamType;
        for await (const event of readEvents(body, input)) {
          isStream = true;
          retryMs = firstRetryMs;
          lastId = event.id ?? lastId;
          if (session.expected.size > 0) this.#settle(session, event.data);
          if (event.data !== '') listener()?.message(event.data);
        }
        if (!isStream) return; // such as a page for people
      } catch (error) {
        if (error instanceof ExceededBudget) return listener()?.exceeded(error.message);
        // The stream is reopened, and the event ID requests the missed events.
      } finally {
        endStream(session);
      }
      await delay(retryMs, undefined, { signal });
    }
  }

  #settle({ expected }: Begun, data: string): void {
    for (const said of readAll(data, this.#tolerate))
      for (const id of expected.keys()) if (isAnswer(said, id)) expected.delete(id);
  }

  /** Whether the server refuses a harmless request in a session too. */
  async #isGone(session: Begun): Promise<boolean> {
    if (this.#current !== session) return true;
    try {
      const { statusCode, body } = await this.#options.post(
        ownMessage({ id: 0, method: 'ping' }),
        this.#options.signal,
      );
      const text = typeof body === 'string' ? body : await this.#firstData(body);
      return sessionState({ statusCode, text }, statusCode < 300) !== 'continues';
    } catch {
      return false;
    }
  }

  async #firstData(body: Exclude<Answer['body'], string>): Promise<string> {
    for await (const { data } of readEvents(body, this.#options.input)) if (data !== '') return data;
    return '';
  }

  async #begin(ended: Begun): Promise<boolean> {
    const { greeting } = ended;
    const { post, signal, listener, renewalMs } = this.#options;
    this.#current = undefined; // the request must not name the session that has ended
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(renewalMs)]);
      const { headers, body } = await post(greeting, limit);
      if ((await this.#answerTo(requestIdOf(greeting) ?? 0, body))?.value.result === undefined) return false;
      this.begin(greeting, headers);
      await this.#confirm();
    } finally {
      this.#current ??= ended;
    }
    ended.over.abort(new Error('the server ended the session'));
    this.listen().catch(() => {}); // ends with the session
    listener()?.renewed?.();
    return true;
  }

  /** Some servers keep the response to this notification open as a stream, or never respond. */
  async #confirm(): Promise<void> {
    const { post, signal, acceptMs } = this.#options;
    const accepted = post(ownMessage({ method: 'notifications/initialized' }), signal).then(({ body }) => {
      if (typeof body !== 'string') body.on('error', () => {}).destroy();
      return undefined;
    });
    await Promise.race([accepted, delay(acceptMs, undefined, { signal, ref: false })]);
  }

  async #answerTo(id: RequestId, body: Answer['body']): Promise<Message | undefined> {
    if (typeof body === 'string') {
      const { answer } = readBody(body, id, this.#tolerate);
      return typeof answer === 'string' ? undefined : answer;
    }
    for await (const { data } of readEvents(body, this.#options.input)) {
      const answer = readAll(data, this.#tolerate).find((said) => isAnswer(said, id));
      if (answer !== undefined) return answer;
    }
    return undefined;
  }
}

function endStream(session: Begun): void {
  session.stream = 'none';
  const expected = [...session.expected.values()];
  session.expected.clear();
  for (const fail of expected) fail();
}
