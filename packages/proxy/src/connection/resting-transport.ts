import { messageOf } from '@toolhive/contract/failure';
import type { WorkloadInput } from '../input/workload-input.ts';
import { errorCodes, readMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import type { Transport, TransportListener } from '../transport/transport.ts';
import { ServerConnection } from './connection.ts';
import { handshakeMs, performHandshake } from './handshake.ts';
import type { OpenTransport } from './pool.ts';

export interface RestingOptions {
  /** Reaches the process that runs already. */
  first: Transport;
  /** Ends that process, which is not a failure. */
  endFirst: () => Promise<void>;
  /** Starts another process. */
  openTransport: OpenTransport;
  /** What a later process is told about its client. */
  client: ClientIdentity;
  input: WorkloadInput;
  /** Told that another process could not be started or has ended unexpectedly. The reason continues "the server". */
  onFailed: (reason: string) => void;
  onFault: (error: unknown) => void;
}

type State =
  | { kind: 'awake'; transport: Transport; end: () => Promise<void> }
  | { kind: 'resting' }
  | { kind: 'waking'; waiting: Message[] }
  | { kind: 'closed' };

/**
 * Reaches a legacy server whose process can end while nothing is asked. The next message starts another process, which gets a
 * handshake first. The connection remains, and is told that the server has a new session.
 */
export class RestingTransport implements Transport {
  readonly #options: RestingOptions;
  readonly #over = new AbortController();
  /** What starts and ends. */
  readonly #underWay = new Set<Promise<void>>();
  #listener: TransportListener | undefined;
  #state: State;
  #wakes = 0;

  constructor(options: RestingOptions) {
    this.#options = options;
    const { first, endFirst } = options;
    const end = async (): Promise<void> => {
      await first.close();
      await endFirst();
    };
    this.#state = { kind: 'awake', transport: first, end };
  }

  get isResting(): boolean {
    return this.#state.kind === 'resting';
  }

  /** How often a message has started another process. */
  get wakes(): number {
    return this.#wakes;
  }

  get unreadBytes(): number {
    const state = this.#state;
    if (state.kind === 'awake') return state.transport.unreadBytes;
    return state.kind === 'waking' ? state.waiting.reduce((sum, { text }) => sum + text.length, 0) : 0;
  }

  open(listener: TransportListener): void {
    this.#listener = listener;
    this.#options.first.open(this.#heardFrom(this.#options.first));
  }

  agree(): void {}

  send(message: Message): void {
    if (this.#state.kind === 'resting') {
      this.#wakes++;
      this.wake();
    }
    const state = this.#state;
    if (state.kind === 'awake') state.transport.send(message);
    else if (state.kind === 'waking') state.waiting.push(message);
  }

  /** Ends the process until the next message. */
  rest(): void {
    const state = this.#state;
    if (state.kind !== 'awake') return;
    this.#state = { kind: 'resting' };
    this.#track(state.end());
  }

  /** Starts another process if there is none. */
  wake(): void {
    if (this.#state.kind !== 'resting') return;
    const waiting: Message[] = [];
    this.#state = { kind: 'waking', waiting };
    this.#track(
      this.#begin(waiting).catch((error: unknown) => {
        if (this.#state.kind !== 'waking') return;
        this.#state = { kind: 'resting' };
        this.#refuse(waiting, `the server could not be started again: ${messageOf(error)}`);
        this.#options.onFailed(`could not be started again: ${messageOf(error)}`);
      }),
    );
  }

  async close(): Promise<void> {
    const state = this.#state;
    this.#state = { kind: 'closed' };
    this.#listener = undefined;
    this.#over.abort(new Error('the connection was closed'));
    if (state.kind === 'awake') this.#track(state.transport.close());
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  async #begin(waiting: readonly Message[]): Promise<void> {
    const { openTransport, client, input, onFault } = this.#options;
    const transport = await openTransport(this.#over.signal);
    let listener: TransportListener | undefined;
    const connection = new ServerConnection({
      transport: {
        unreadBytes: 0,
        send: (message) => transport.send(message),
        open: (opened) => (listener = opened),
        agree() {},
        async close() {},
      },
      owner: { notified() {}, lost() {}, asked: (asked, question) => asked.decline(question) },
      input,
      onFault,
    });
    transport.open({
      message: (received, related) => listener?.message(received, related),
      unreadable: (start, why) => listener?.unreadable(start, why),
      exceeded: (reason) => listener?.exceeded(reason),
      closed: (reason) => listener?.closed(reason),
    });
    try {
      const signal = AbortSignal.any([this.#over.signal, AbortSignal.timeout(handshakeMs)]);
      await performHandshake(connection, { client, generation: 'legacy', probeMs: 0, signal });
      signal.throwIfAborted();
    } catch (error) {
      await transport.close();
      throw error;
    }
    listener = this.#heardFrom(transport);
    this.#state = { kind: 'awake', transport, end: () => transport.close() };
    this.#listener?.renewed?.();
    for (const message of waiting) transport.send(message);
  }

  /** Passes on what comes from a process as long as it is the current one. */
  #heardFrom(transport: Transport): TransportListener {
    const current = (): TransportListener | undefined =>
      this.#state.kind === 'awake' && this.#state.transport === transport ? this.#listener : undefined;
    return {
      message: (received, related) => current()?.message(received, related),
      unreadable: (start, why) => current()?.unreadable(start, why),
      exceeded: (reason) => current()?.exceeded(reason),
      closed: (reason) => {
        const listener = current();
        if (listener === undefined) return;
        listener.closed(reason);
        // Its owner follows the end of the first process.
        if (transport !== this.#options.first) this.#options.onFailed(reason.replace(/^it /, ''));
      },
    };
  }

  /** Answers requests, which the connection otherwise waits for. */
  #refuse(waiting: readonly Message[], message: string): void {
    for (const { kind, value } of waiting) {
      if (kind !== 'request') continue;
      const error = { code: errorCodes.serverError, message };
      this.#listener?.message(readMessage(JSON.stringify({ jsonrpc: '2.0', id: value.id, error })));
    }
  }

  #track(promise: Promise<void>): void {
    const settled = promise.catch(this.#options.onFault).finally(() => this.#underWay.delete(settled));
    this.#underWay.add(settled);
  }
}
