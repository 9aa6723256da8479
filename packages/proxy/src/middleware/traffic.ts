import { bytesOf, isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { CallTracker, isStream } from './call-tracker.ts';
import type { CallEnding, OpenCall } from './call-tracker.ts';
import type { CallContext, Exchange, Middleware, RefusedCall } from './middleware.ts';
import { usesOfExtensions } from '../protocol/extensions.ts';
import type { UsedKind } from '../protocol/extensions.ts';

/** A completed request or notification. No text is longer than 256 characters. */
export interface EndedCall {
  /** The arrival time, in milliseconds since 1970. */
  atMs: number;
  source: 'client' | 'ui';
  direction: 'to-server' | 'to-client';
  client: { name: string; version?: string } | undefined;
  /** The `Mcp-Session-Id`. Anyone who knows this ID can use the session. */
  session: string | undefined;
  protocolVersion: string | undefined;
  method: string;
  kind?: UsedKind | undefined;
  name?: string | undefined;
  durationMs?: number | undefined;
  requestBytes?: number | undefined;
  responseBytes?: number | undefined;
  outcome: 'ok' | 'error' | 'denied' | 'cancelled';
  /** ToolHive or its web UI has read something on its own. The use of a tool, prompt, or resource is none. */
  isOwnRead: boolean;
  reason?: string | undefined;
}

/** The messages of a call as they passed. */
export interface CallBodies {
  request: string;
  response: string | undefined;
}

/** Receives calls. Must return at once. */
export interface CallSink {
  /** Whether the sink receives the bodies of calls, too. */
  readonly recordsBodies: boolean;
  record: (call: EndedCall, bodies?: CallBodies) => void;
}

const maxText = 256;

/** Passes every completed call to a sink. Undefined without a sink. */
export function traffic({
  traffic: sink,
  readsMessages,
  tracker,
}: {
  traffic?: CallSink | undefined;
  readsMessages: boolean;
  /** Follows the calls already, for other middleware. */
  tracker?: CallTracker | undefined;
}): Traffic | undefined {
  return sink === undefined ? undefined : new Traffic(sink, { readsMessages, tracker });
}

/**
 * Reports calls, including refused calls. If neither another middleware nor the transport reads messages, they are
 * forwarded unread, and the report contains only data from the HTTP headers.
 */
export class Traffic implements Middleware {
  readonly #sink: CallSink;
  readonly #tracker: CallTracker;
  readonly isObserver = true;
  readonly isPassive: boolean;
  // Absent if other middleware reports every message to the tracker.
  readonly request: Middleware['request'];
  readonly message: Middleware['message'];
  readonly refused: Middleware['refused'];

  constructor(
    sink: CallSink,
    { readsMessages, tracker }: { readsMessages: boolean; tracker?: CallTracker | undefined },
  ) {
    this.#sink = sink;
    this.isPassive = !readsMessages;
    this.#tracker = tracker ?? new CallTracker();
    this.#tracker.tell({
      ended: (call, ending) => this.#ended(call, ending),
      notified: (context, exchange) => this.#record(context, exchange, { outcome: 'ok' }),
      asked: (context) => this.#record(context, undefined, { outcome: 'ok' }),
      refused: (context, exchange, reason) =>
        this.#record(context, exchange, { outcome: 'denied', reason: short(reason) }),
      unread: (exchange, startMs, status) => {
        if (!isStream(exchange)) sink.record(unread(exchange, performance.now() - startMs, status));
      },
    });
    if (tracker !== undefined) return;
    const follow = (exchange: Exchange, next: () => void): void => {
      this.#tracker.follow(exchange);
      next();
    };
    const see = (context: CallContext): Message => {
      this.#tracker.see(context);
      return context.message;
    };
    const seeRefused = (call: RefusedCall): void => this.#tracker.seeRefused(call);
    this.request = follow;
    this.message = see;
    this.refused = seeRefused;
  }

  /** How many requests of a session are not answered yet. */
  inFlight(session: string): number {
    return this.#tracker.inFlight(session);
  }

  /** Tells of the requests that are still waited for, when the proxy ends. */
  close(): void {
    this.#tracker.close();
  }

  #ended({ context, exchange, denied }: OpenCall, ending: CallEnding): void {
    const { response, reason, isCancelled, durationMs } = ending;
    const [outcome, why] =
      denied !== undefined
        ? (['denied', denied] as const)
        : isCancelled
          ? (['cancelled', reason] as const)
          : outcomeOf(response, reason);
    this.#record(context, exchange, {
      outcome,
      reason: why === undefined ? undefined : short(why),
      durationMs,
      response,
    });
  }

  #record(context: CallContext, exchange: Exchange | undefined, ending: MessageEnding): void {
    const { message, session, client, direction, request } = context;
    const about = message.kind === 'response' && request !== undefined ? request : message;
    const { method = '', params } = about.value;
    const { response, durationMs = 0, outcome, reason } = ending;
    const isGreeting = method === 'initialize';
    const item = itemOf(method, params);
    const call: EndedCall = {
      atMs: Date.now() - durationMs,
      source: exchange?.relayed === undefined ? 'client' : 'ui',
      direction: direction === 'to client' && about === message ? 'to-client' : 'to-server',
      client: clientOf(isGreeting ? params?.['clientInfo'] : client.clientInfo),
      session: sessionOf(session),
      protocolVersion: short(client.protocolVersion),
      method: short(method),
      kind: item?.kind,
      name: item?.name,
      durationMs: ending.durationMs,
      requestBytes: bytesOf(about),
      responseBytes: response === undefined ? undefined : bytesOf(response),
      outcome,
      isOwnRead: isOwnRead(exchange, item),
      reason,
    };
    if (this.#sink.recordsBodies) this.#sink.record(call, { request: about.text, response: response?.text });
    else this.#sink.record(call);
  }
}

interface MessageEnding {
  outcome: EndedCall['outcome'];
  reason?: string | undefined;
  durationMs?: number | undefined;
  response?: Message | undefined;
}

function outcomeOf(
  response: Message | undefined,
  reason: string | undefined,
): ['ok' | 'error' | 'cancelled', string | undefined] {
  if (response === undefined) return ['error', reason];
  const { result, error } = response.value;
  if (error !== undefined) return ['error', error.message];
  return isObject(result) && result['isError'] === true
    ? ['error', 'the tool reported an error']
    : ['ok', undefined];
}

/** What the headers of a request tell whose message was not read. */
function unread(exchange: Exchange, durationMs: number, status: number): EndedCall {
  const { request, message, relayed } = exchange;
  const { headers } = request;
  const [method, name] = [headers['mcp-method'], headers['mcp-name']].map((value) =>
    typeof value === 'string' ? value : undefined,
  );
  const session = headers['mcp-session-id'];
  const version = headers['mcp-protocol-version'];
  const length = Number(headers['content-length']);
  const known = message?.value.method ?? method;
  const item =
    message === undefined
      ? itemNamed(method ?? '', name)
      : itemOf(message.value.method ?? '', message.value.params);
  return {
    atMs: Date.now() - durationMs,
    source: relayed === undefined ? 'client' : 'ui',
    direction: 'to-server',
    client: undefined,
    session: sessionOf(session),
    protocolVersion: typeof version === 'string' ? short(version) : undefined,
    method: short(known ?? request.method ?? ''),
    kind: item?.kind,
    name: item?.name,
    durationMs,
    requestBytes: Number.isSafeInteger(length) ? length : undefined,
    isOwnRead: isOwnRead(exchange, item),
    ...outcomeOfStatus(status),
  };
}

/** Users also call tools in the web UI, and these are calls like all others. */
function isOwnRead(exchange: Exchange | undefined, item: Item | undefined): boolean {
  return item === undefined && (exchange?.isOwnRead === true || exchange?.relayed !== undefined);
}

function outcomeOfStatus(status: number): Pick<EndedCall, 'outcome' | 'reason'> {
  if (status === 499) return { outcome: 'cancelled', reason: 'the client disconnected' };
  if (status < 400) return { outcome: 'ok' };
  return { outcome: status === 401 || status === 403 ? 'denied' : 'error', reason: `HTTP status ${status}` };
}

/** The parameter that names the object of a request, by its method. */
const items: Readonly<Record<string, { kind: UsedKind; parameter: string }>> = {
  'tools/call': { kind: 'tool', parameter: 'name' },
  'prompts/get': { kind: 'prompt', parameter: 'name' },
  'resources/read': { kind: 'resource', parameter: 'uri' },
  'resources/subscribe': { kind: 'resource', parameter: 'uri' },
  'resources/unsubscribe': { kind: 'resource', parameter: 'uri' },
  ...usesOfExtensions,
};

type Item = Required<Pick<EndedCall, 'kind' | 'name'>>;

function itemOf(method: string, params: Message['value']['params']): Item | undefined {
  const item = Object.hasOwn(items, method) ? items[method] : undefined;
  return item === undefined ? undefined : itemNamed(method, params?.[item.parameter]);
}

function itemNamed(method: string, name: unknown): Item | undefined {
  const item = Object.hasOwn(items, method) ? items[method] : undefined;
  return item === undefined || typeof name !== 'string' ? undefined : { kind: item.kind, name: short(name) };
}

/** How a client introduces itself, in short. */
export function clientOf(info: unknown): EndedCall['client'] {
  if (!isObject(info) || typeof info['name'] !== 'string') return undefined;
  const { name, version } = info;
  return { name: short(name), ...(typeof version === 'string' ? { version: short(version) } : {}) };
}

/** A session ID, unless it is too long to store. */
function sessionOf(id: unknown): string | undefined {
  return typeof id === 'string' && id.length <= maxText ? id : undefined;
}

/** The beginning of a text, as a copy: a slice would keep the whole message in memory. */
function short(text: string): string {
  return text.length <= maxText ? text : Buffer.from(text.slice(0, maxText)).toString();
}
