import { PassThrough } from 'node:stream';
import type { Readable, Writable } from 'node:stream';
import { messageTooLarge } from '../input/byte-budget.ts';
import { answerWith, errorCodes, isObject, ownMessage, readMessage } from '../jsonrpc/message.ts';
import type { Message, RepeatedAnswer } from '../jsonrpc/message.ts';
import { repeatedOf } from '../jsonrpc/repeated-answers.ts';
import { WorkloadInput } from '../input/workload-input.ts';
import type { CallContext, Middleware, Outcome, Principal } from '../middleware/middleware.ts';
import { meta, modernVersion } from '../protocol/protocol.ts';
import type { ClientIdentity } from '../protocol/protocol.ts';
import { readLines } from '../transport/lines.ts';

/** Who sends a request to a server in this process. */
export interface InProcessCaller {
  /** The ID of the principal. Empty if the proxy does not authenticate its callers. */
  principal: string;
  client: ClientIdentity;
  /** The `Authorization` header with which the proxy has authenticated the caller. */
  authorization?: string | undefined;
  /** The ID of the client's session. Absent for a client without one. */
  session?: string | undefined;
}

export interface InProcessCall {
  /** The ID of the request. Notifications of a subscription name it. */
  id: string | number;
  caller: InProcessCaller;
  /** Aborts when the client cancels the request. */
  signal: AbortSignal;
  /** Sends a notification that belongs to the request. */
  notify: (method: string, params: Record<string, unknown>) => void;
}

/** A result as an object, or as JSON text. One that is the same object for many requests may be marked as repeated. */
export type InProcessResult = object | { readonly json: string; readonly isRepeated?: boolean };

export interface InProcessServerOptions {
  identity: { name: string; title: string; version: string };
  instructions: string;
  capabilities: Record<string, unknown>;
  /** Returns the result of a request, or throws `RequestError`. */
  answer: (method: string, params: Record<string, unknown>, call: InProcessCall) => Promise<InProcessResult>;
  /** Told of bugs, which callers are not. */
  onFault: (error: unknown) => void;
}

/** An error that the client gets as it is. */
export class RequestError extends Error {
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Returns the error for a method that the server does not have. */
export function unknownMethod(method: string): RequestError {
  return new RequestError(errorCodes.methodNotFound, `${method} is not supported`);
}

const internalError = -32603;
/** The member of `_meta` that describes the caller. The middleware replaces any value that a client sends. */
const callerKey = 'dev.toolhive/caller';

/**
 * An MCP server in this process behind a proxy, which sees a stdio server of the newest protocol version. Every request
 * names its caller, as the proxy has established it.
 */
export class InProcessServer implements AsyncDisposable {
  /** The streams that the proxy connects to. */
  readonly stdio: { input: Writable; output: Readable };
  /** Ends when the proxy has closed the streams. */
  readonly ended: Promise<void>;
  readonly #options: InProcessServerOptions;
  /** Messages and texts of messages: long lists need not become bytes and texts again. */
  readonly #output = new PassThrough({ objectMode: true });
  readonly #calls = new Map<unknown, AbortController>();
  readonly #repeated = new WeakMap<object, RepeatedAnswer>();

  constructor(options: InProcessServerOptions) {
    this.#options = options;
    const input = new PassThrough();
    this.stdio = { input, output: this.#output };
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    input.once('close', resolve);
    readLines(input, {
      input: new WorkloadInput(),
      onLine: (line) => this.#receive(line),
      onTooLong: () => options.onFault(new Error(`the proxy sends a line that is ${messageTooLarge}`)),
      onExceeded: (reason) => options.onFault(new Error(`the proxy ${reason}`)),
    }).catch(options.onFault);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const call of this.#calls.values()) call.abort(new Error('the server ends'));
    this.stdio.input.destroy();
    this.#output.end();
  }

  #receive(line: string): void {
    // From our own proxy, so the line is a message.
    const {
      id,
      method,
      params = {},
    } = JSON.parse(line) as {
      id?: string | number;
      method: string;
      params?: Record<string, unknown>;
    };
    if (id !== undefined) this.#answer(id, method, params).catch(this.#options.onFault);
    else if (method === 'notifications/cancelled')
      this.#calls.get(params['requestId'])?.abort(new Error('the client canceled the request'));
  }

  async #answer(id: string | number, method: string, params: Record<string, unknown>): Promise<void> {
    const call = new AbortController();
    this.#calls.set(id, call);
    try {
      const result = await this.#resultOf({ id, method, params }, call.signal);
      this.#write(this.#answerWith(result, JSON.stringify(id)));
    } catch (error) {
      const told =
        error instanceof RequestError ? error : new RequestError(internalError, 'internal server error');
      if (told !== error && !call.signal.aborted) this.#options.onFault(error);
      const { code, message, data } = told;
      this.#write(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } }));
    } finally {
      this.#calls.delete(id);
    }
  }

  async #resultOf({ id, method, params: asked }: Request, signal: AbortSignal): Promise<InProcessResult> {
    const { _meta = {}, ...params } = asked;
    const { identity, instructions, capabilities, answer } = this.#options;
    if (method === 'server/discover')
      return {
        resultType: 'complete',
        supportedVersions: [modernVersion],
        capabilities,
        instructions,
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { [meta.serverInfo]: identity },
      };
    const { [callerKey]: caller = unknownCaller, ...others } = _meta as Record<string, unknown>;
    return answer(
      method,
      { ...params, _meta: others },
      {
        id,
        caller: caller as InProcessCaller, // written by `identifyCallers`
        signal,
        notify: (notified, about) =>
          this.#write(JSON.stringify({ jsonrpc: '2.0', method: notified, params: about })),
      },
    );
  }

  /** `id` is a JSON text. */
  #answerWith(result: InProcessResult, id: string): Message | string {
    const known = this.#repeated.get(result);
    if (known !== undefined) return answerWith(known, id);
    const json = 'json' in result ? result.json : JSON.stringify(result);
    const text = `{"jsonrpc":"2.0","id":${id},"result":${json}}`;
    if (!('isRepeated' in result && result.isRepeated === true)) return text;
    const message = readMessage(text);
    this.#repeated.set(result, repeatedOf(message));
    return message;
  }

  #write(message: Message | string): void {
    this.#output.write(message);
  }
}

interface Request {
  id: string | number;
  method: string;
  params: Record<string, unknown>;
}

const unknownCaller: InProcessCaller = {
  principal: '',
  client: { protocolVersion: modernVersion, capabilities: {} },
};

/**
 * Returns the innermost middleware of a proxy in front of an `InProcessServer`, which tells the server about the caller
 * of each request.
 */
export function identifyCallers(): Middleware {
  const authorizations = new WeakMap<Principal, string>();
  return {
    request({ request, principal }, next) {
      const { authorization } = request.headers;
      // Without authentication, all callers are the same principal, and a header says nothing about it.
      if (authorization !== undefined && principal.challenge !== undefined)
        authorizations.set(principal, authorization);
      next();
    },
    message: ({ direction, message, principal, client, session }: CallContext): Outcome => {
      if (direction !== 'to server' || message.kind !== 'request') return message;
      return described(message, {
        principal: principal.id,
        client,
        authorization: authorizations.get(principal),
        session,
      });
    },
  };
}

function described({ value }: Message, caller: InProcessCaller): Message {
  const { id, method = '', params } = value;
  const { _meta } = params ?? {};
  return ownMessage({
    id,
    method,
    params: { ...params, _meta: { ...(isObject(_meta) ? _meta : {}), [callerKey]: caller } },
  });
}
