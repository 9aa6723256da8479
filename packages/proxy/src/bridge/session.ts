import { randomUUID } from 'node:crypto';
import { errorCodes, restate } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { Call, ServerConnection } from '../connection/connection.ts';
import type { OwnConnection } from '../connection/pool.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import { isOffered, newestLegacyVersion } from '../protocol/protocol.ts';
import { ResumableStream } from './stream.ts';

/** How many streams of a session are remembered so that they can be resumed, and how much of them. */
const maxStreams = 32;
const maxKeptChars = 8 * 1024 * 1024;
/** How many questions a client may leave unanswered. */
const maxQuestions = 100;

/** What becomes of the client's answer to a question. */
export type Answered = (answer: { result: unknown } | { error: unknown }) => void;

/** One legacy client's conversation with a workload. It outlives connections, and the server behind it. */
export class Session {
  readonly id = randomUUID();
  /** What the client said of itself; the revision is the one that it was told. */
  client: ClientIdentity = { protocolVersion: newestLegacyVersion, capabilities: {} };
  lastSeenMs: number;
  /** It goes on after the request that began it, so that it can have a server process of its own. */
  isLasting = false;
  readonly subscriptions = new Set<string>();
  logLevel: string | undefined;
  /** A conversation with the server that nobody else has. */
  own: Promise<OwnConnection> | undefined;
  /** What belongs to no request goes here. */
  readonly stream = new ResumableStream('s');
  readonly #streams = new Map<string, ResumableStream>([['s', this.stream]]);
  readonly #questions = new Map<number, Answered>();
  #lastQuestion = 0;
  #lastStream = 0;

  constructor(nowMs: number) {
    this.lastSeenMs = nowMs;
  }

  /** Is there a connection over which the client waits for anything? */
  get isListening(): boolean {
    return this.#streams.values().some(({ isConnected }) => isConnected);
  }

  /** Sends a message that belongs to no request. */
  send(text: string): void {
    this.stream.send(text);
  }

  /** A stream for one request, which can be resumed by its name. */
  openStream(): ResumableStream {
    this.#forgetStreams();
    const name = `r${++this.#lastStream}`;
    const stream = new ResumableStream(name);
    this.#streams.set(name, stream);
    return stream;
  }

  findStream(name: string): ResumableStream | undefined {
    return this.#streams.get(name);
  }

  /** Passes a question of a server on to the client, if it has said that it takes such questions. */
  ask(connection: ServerConnection, question: Message, call: Call | undefined): void {
    if (!isOffered(this.client, question.value.method ?? '')) return connection.decline(question);
    const text = this.question((answer) => connection.respond(question, answer), question);
    // The request that it is asked for has a stream, or can still have one.
    if (call?.reply.ask === undefined) this.send(text);
    else call.reply.ask(text);
  }

  /** The text of a question under an id that is unique in this session. */
  question(answered: Answered, question: Message): string {
    const id = ++this.#lastQuestion;
    this.#questions.set(id, answered);
    if (this.#questions.size > maxQuestions) {
      const [oldest] = this.#questions.keys();
      if (oldest !== undefined) this.#settle(oldest, { error: unanswered });
    }
    return restate(question, { newId: String(id) });
  }

  /** Takes the client's answer to a question. One that was never asked is nobody's. */
  answered({ value: { id, result, error } }: Message): void {
    if (typeof id !== 'number') return;
    this.#settle(id, error === undefined ? { result } : { error });
  }

  close(): void {
    for (const id of this.#questions.keys()) this.#settle(id, { error: unanswered });
    for (const stream of this.#streams.values()) stream.end();
    this.#streams.clear();
    void this.own?.then(
      (own) => own.giveBack(),
      () => {}, // it never came to be
    );
    this.own = undefined;
  }

  #settle(id: number, answer: Parameters<Answered>[0]): void {
    const answered = this.#questions.get(id);
    this.#questions.delete(id);
    answered?.(answer);
  }

  /** Of those that are over, the oldest first; somebody waits at the others. */
  #forgetStreams(): void {
    let keptChars = this.#streams.values().reduce((sum, stream) => sum + stream.keptChars, 0);
    for (const [name, stream] of this.#streams) {
      if (this.#streams.size < maxStreams && keptChars <= maxKeptChars) return;
      if (!stream.isEnded) continue;
      this.#streams.delete(name);
      keptChars -= stream.keptChars;
    }
  }
}

const unanswered = { code: errorCodes.serverError, message: 'the client has not answered' };
