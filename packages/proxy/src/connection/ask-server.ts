import { ownMessage } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { ServerConnection } from './connection.ts';
import type { Responder } from './responder.ts';

export interface AskOptions {
  /** Ends the waiting. The server is told. */
  signal: AbortSignal;
  /** Whose request this is, for the limits on open requests. */
  caller?: unknown;
  /** Whether a client waits. By default, one does. */
  isAwaited?: () => boolean;
  /** Receives the notifications that belong to the request. */
  notify?: (notification: Message) => void;
}

/** Sends a request of the proxy itself. Resolves with the response, also if that is an error. Rejects when the signal aborts. */
export async function askServer(
  connection: ServerConnection,
  { method, params }: { method: string; params: Record<string, unknown> },
  { signal, caller, isAwaited = () => true, notify = () => {} }: AskOptions,
): Promise<Message> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Message>();
  const responder = new OwnResponder(resolve, notify, isAwaited);
  const call = connection.ask(ownMessage({ id: `proxy ${method}`, method, params }), responder, caller);
  const cancel = (): void => {
    if (call !== undefined) connection.cancel(call, 'the answer is not needed any more');
    reject(signal.reason);
  };
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** Waits for a promise, or until the signal aborts. */
export async function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Takes the answer to a request of the proxy itself. */
class OwnResponder implements Responder {
  readonly answer: Responder['answer'];
  readonly notify: Responder['notify'];
  readonly #isAwaited: () => boolean;

  constructor(answer: Responder['answer'], notify: Responder['notify'], isAwaited: () => boolean) {
    this.answer = answer;
    this.notify = notify;
    this.#isAwaited = isAwaited;
  }

  get isAbandoned(): boolean {
    return !this.#isAwaited();
  }
}
