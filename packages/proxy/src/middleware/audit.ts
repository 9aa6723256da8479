import { isIP } from 'node:net';
import type { ServerResponse } from 'node:http';
import type { AuditOutcome, AuditRecord } from '@toolhive/contract/audit';
import { takesEvents } from '../http/accept.ts';
import { errorCodes, isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import type { CallContext, Caller, Exchange, Middleware, Principal, RefusedCall } from './middleware.ts';

/** What happened, without what the audit log adds. */
export interface AuditEntry extends Pick<
  AuditRecord,
  'type' | 'outcome' | 'component' | 'source' | 'subjects' | 'target' | 'metadata' | 'workload'
> {
  bodies?: { request?: AuditedBody; response?: AuditedBody };
}

/** The text of a body, or its size in bytes if it is larger than what is recorded. */
export type AuditedBody = string | number;

export interface AuditOptions {
  /** Takes what happened. Must return at once. */
  record: (entry: AuditEntry) => void;
  /** The calls that are recorded. If absent, only denials are. */
  calls?: AuditedCalls | undefined;
  /** The user of this machine, who is the caller if the proxy does not authenticate. */
  localUser: string;
  /** Whether a reverse proxy in front states the address of the client. */
  trustsProxyHeaders: boolean;
  now?: () => number;
}

export interface AuditedCalls {
  component: string;
  isRecorded: (type: string) => boolean;
  requestData: boolean;
  responseData: boolean;
  /** The size up to which a body is recorded. */
  maxBytes: number;
}

/** How long a request is waited for whose connection has ended. Its response may come over another one. */
const detachedMs = 10 * 60_000;
const maxDetached = 1_000;
/** How often they are looked for. */
const sweepMs = 60_000;
/** How much of one text of a client is recorded. */
const maxText = 512;

/** A request that has not been answered. */
interface Pending {
  context: CallContext;
  exchange: Exchange | undefined;
  startMs: number;
  denied?: string;
}

/** What an HTTP request has led to so far. */
interface Trace {
  exchange: Exchange;
  startMs: number;
  /** A message of it has reached the middleware for messages. */
  isRead: boolean;
  pending: Set<Pending>;
}

/** Records calls and denials. Undefined if nothing takes the records. */
export function audit({ audit: options, workload, access }: AuditRowOptions): Audit | undefined {
  if (options === undefined) return undefined;
  return new Audit({ ...options, workload: workload ?? '', isAuthenticating: access !== undefined });
}

interface AuditRowOptions {
  audit?: AuditOptions | undefined;
  workload?: string | undefined;
  access?: object | undefined;
}

/**
 * Records one entry for each request and notification of a client, each request of the server, and each HTTP request
 * that contains no message or is refused before its message is read. It is the outermost middleware, because the
 * entries contain what all others have decided. Without `calls`, it sees no messages and records only denials.
 */
export class Audit implements Middleware {
  readonly #options: AuditOptions & { workload: string; isAuthenticating: boolean };
  readonly #now: () => number;
  readonly #traces = new WeakMap<Message, Trace>();
  readonly #pending = new WeakMap<Message, Pending>();
  readonly #detached = new Map<Pending, number>();
  #sweeping: NodeJS.Timeout | undefined;
  readonly isObserver = true;
  readonly message: Middleware['message'];

  constructor(options: AuditOptions & { workload: string; isAuthenticating: boolean }) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.message = options.calls === undefined ? undefined : (context) => this.#see(context);
  }

  readonly request = (exchange: Exchange, next: () => void): void => {
    if (this.#options.calls === undefined) return this.#recordDenials(exchange, next);
    const trace: Trace = { exchange, startMs: this.#now(), isRead: false, pending: new Set() };
    exchange.onMessages = (messages) => {
      for (const message of messages) this.#traces.set(message, trace);
    };
    const { request, response, path } = exchange;
    if (request.method === 'GET' && (path === '/sse' || takesEvents(request))) {
      // A stream is recorded when it begins, because it may last for days.
      onHead(response, (status) => this.#recordHttp(trace, status));
    } else response.once('close', () => this.#closed(trace));
    next();
  };

  /** Records a message that another middleware has refused. */
  readonly refused = ({ context, refusal, isFault }: RefusedCall): void => {
    if (isFault) return;
    const { message, direction, request } = context;
    const pending =
      direction === 'to server' ? this.#pending.get(message) : request && this.#pending.get(request);
    if (pending === undefined) return this.#recordRefusal(context, refusal.message);
    pending.denied = refusal.message;
    // The refusal of a response does not come by here.
    if (direction === 'to client' && message.kind === 'response') this.#finish(pending);
  };

  /** Costs nothing for a request that is not refused at once, unless callers are authenticated. */
  #recordDenials(exchange: Exchange, next: () => void): void {
    const trace: Trace = { exchange, startMs: 0, isRead: false, pending: new Set() };
    const { response } = exchange;
    if (this.#options.isAuthenticating) {
      response.once('close', () => isDenial(response) && this.#recordHttp(trace, response.statusCode));
      return next();
    }
    next();
    if (isDenial(response)) this.#recordHttp(trace, response.statusCode);
  }

  #see(context: CallContext): Message {
    const { direction, message, request } = context;
    if (direction === 'to server') {
      const trace = this.#traces.get(message);
      if (trace !== undefined) trace.isRead = true;
      if (message.kind === 'request') this.#begin(context, trace);
      if (message.kind === 'notification') this.#recordNotification(context, trace);
    } else if (message.kind === 'request') {
      this.#record(context, undefined, { outcome: 'success' });
    } else if (message.kind === 'response' && request !== undefined) {
      const pending = this.#pending.get(request);
      if (pending !== undefined) this.#finish(pending, message);
    }
    return message;
  }

  #begin(context: CallContext, trace: Trace | undefined): void {
    const pending = { context, exchange: trace?.exchange, startMs: trace?.startMs ?? this.#now() };
    this.#pending.set(context.message, pending);
    trace?.pending.add(pending);
  }

  #recordNotification(context: CallContext, trace: Trace | undefined): void {
    this.#record(context, trace?.exchange, { outcome: 'success' });
  }

  /** Records a request whose response passes, or that gets none. */
  #finish(pending: Pending, response?: Message, reason?: string): void {
    const { context, exchange, startMs, denied } = pending;
    if (!this.#pending.delete(context.message)) return;
    this.#detached.delete(pending);
    this.#record(context, exchange, {
      outcome: denied === undefined ? outcomeOf(response) : 'denied',
      reason: denied ?? reason,
      response,
      durationMs: this.#now() - startMs,
    });
  }

  #closed(trace: Trace): void {
    const { exchange, isRead, pending } = trace;
    if (!isRead) {
      const { response, path } = exchange;
      const isOwn = /^\/(health|metrics|\.well-known\/.*)$/.test(path) && !isDenial(response);
      if (!isOwn) this.#recordHttp(trace, response.writableFinished ? response.statusCode : 499);
      return;
    }
    for (const one of pending) {
      if (!this.#pending.has(one.context.message)) continue;
      // Only a client with a session can receive the response over another connection.
      if (one.context.session === undefined) this.#finish(one, undefined, 'the client disconnected');
      else this.#detach(one);
    }
  }

  #detach(pending: Pending): void {
    this.#detached.set(pending, this.#now());
    const [oldest] = this.#detached.keys();
    if (this.#detached.size > maxDetached && oldest !== undefined)
      this.#finish(oldest, undefined, unanswered);
    this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs).unref();
  }

  #sweep(): void {
    const since = this.#now() - detachedMs;
    for (const [pending, at] of this.#detached) if (at < since) this.#finish(pending, undefined, unanswered);
    if (this.#detached.size > 0) return;
    clearInterval(this.#sweeping);
    this.#sweeping = undefined;
  }

  /** Records the requests that are still waited for, when the proxy ends. */
  close(): void {
    clearInterval(this.#sweeping);
    for (const pending of this.#detached.keys()) this.#finish(pending, undefined, unanswered);
  }

  #recordRefusal(context: CallContext, reason: string): void {
    const exchange = this.#traces.get(context.request ?? context.message)?.exchange;
    this.#record(context, exchange, { outcome: 'denied', reason });
  }

  #record(
    { message, client, principal, request }: CallContext,
    exchange: Exchange | undefined,
    { outcome, reason, response, durationMs }: Ending,
  ): void {
    const about = message.kind === 'response' && request !== undefined ? request : message;
    const type = typeOf(about);
    if (!this.#isRecorded(type, outcome)) return;
    const { calls } = this.#options;
    const requestBody = calls?.requestData === true ? this.#body(about.text) : undefined;
    const responseBody =
      calls?.responseData === true && response !== undefined ? this.#body(response.text) : undefined;
    const target = targetOf(about);
    this.#options.record({
      ...this.#common(exchange, principal, client),
      type,
      outcome,
      target: exchange === undefined ? target : { endpoint: exchange.path.slice(0, maxText), ...target },
      metadata: {
        extra: {
          ...(durationMs === undefined ? {} : { duration_ms: Math.round(durationMs) }),
          ...(reason === undefined ? {} : { reason: reason.slice(0, maxText) }),
          ...(response === undefined ? {} : { response_size_bytes: Buffer.byteLength(response.text) }),
          transport: transportOf(exchange?.path),
        },
      },
      ...(requestBody === undefined && responseBody === undefined
        ? {}
        : {
            bodies: {
              ...(requestBody === undefined ? {} : { request: requestBody }),
              ...(responseBody === undefined ? {} : { response: responseBody }),
            },
          }),
    });
  }

  #recordHttp({ exchange, startMs }: Trace, status: number): void {
    const { request, path, message, principal } = exchange;
    const outcome = outcomeOfStatus(status);
    const isStream = request.method === 'GET' && (path === '/sse' || takesEvents(request));
    const type = isStream ? 'sse_connection' : message === undefined ? 'http_request' : typeOf(message);
    if (!this.#isRecorded(type, outcome)) return;
    const target =
      message === undefined || isStream
        ? { method: request.method ?? '', type: isStream ? 'sse_endpoint' : 'endpoint' }
        : targetOf(message);
    this.#options.record({
      ...this.#common(exchange, principal),
      type,
      outcome,
      target: { endpoint: path.slice(0, maxText), ...target },
      metadata: {
        extra: {
          ...(startMs === 0 ? {} : { duration_ms: Math.round(this.#now() - startMs) }),
          status_code: status,
          transport: transportOf(path),
        },
      },
    });
  }

  /** A denial is recorded, whatever the audit configuration of the workload leaves out. */
  #isRecorded(type: string, outcome: AuditOutcome): boolean {
    return outcome === 'denied' || this.#options.calls?.isRecorded(type) === true;
  }

  #common(
    exchange: Exchange | undefined,
    principal: Principal,
    client?: Caller['client'],
  ): Pick<AuditEntry, 'component' | 'source' | 'subjects' | 'workload'> {
    const { workload, calls, localUser, trustsProxyHeaders } = this.#options;
    const source = sourceOf(exchange, trustsProxyHeaders);
    return {
      component: calls?.component ?? workload,
      source,
      subjects: { ...clientOf(client), ...userOf(principal, isLocal(source.value) ? localUser : undefined) },
      workload,
    };
  }

  #body(text: string): AuditedBody {
    const bytes = Buffer.byteLength(text);
    return bytes <= (this.#options.calls?.maxBytes ?? 0) ? text : bytes;
  }
}

interface Ending {
  outcome: AuditOutcome;
  reason?: string | undefined;
  response?: Message | undefined;
  durationMs?: number | undefined;
}

const unanswered = 'there was no response';

/** Calls back once with the status of a response, when its head is written. */
function onHead(response: ServerResponse, done: (status: number) => void): void {
  const writeHead = response.writeHead.bind(response);
  let isDone = false;
  const tell = (status: number): void => {
    if (!isDone) done(status);
    isDone = true;
  };
  // Also called for an implicit head (Node.js, ServerResponse), so this sees every response.
  response.writeHead = ((...given: Parameters<typeof writeHead>) => {
    tell(given[0]);
    return writeHead(...given);
  }) as typeof writeHead;
  response.once('close', () => tell(499));
}

function isDenial({ statusCode, headersSent }: ServerResponse): boolean {
  return headersSent && (statusCode === 401 || statusCode === 403);
}

const typesByMethod: Readonly<Record<string, string>> = {
  initialize: 'mcp_initialize',
  'tools/call': 'mcp_tool_call',
  'tools/list': 'mcp_tools_list',
  'resources/read': 'mcp_resource_read',
  'resources/list': 'mcp_resources_list',
  'prompts/get': 'mcp_prompt_get',
  'prompts/list': 'mcp_prompts_list',
  ping: 'mcp_ping',
  'logging/setLevel': 'mcp_logging',
  'completion/complete': 'mcp_completion',
  'notifications/roots/list_changed': 'mcp_roots_list_changed',
};

function typeOf({ kind, value: { method = '' } }: Message): string {
  const known = Object.hasOwn(typesByMethod, method) ? typesByMethod[method] : undefined;
  return known ?? (kind === 'notification' ? 'mcp_notification' : 'mcp_request');
}

/** The object of a message: what it is called, and of which kind it is. */
function targetOf({ value: { method = '', params } }: Message): Record<string, string> {
  const kind = method.startsWith('tools/call')
    ? 'tool'
    : method.startsWith('resources/')
      ? 'resource'
      : method.startsWith('prompts/get')
        ? 'prompt'
        : 'endpoint';
  const ref = params?.['ref'];
  const clientInfo = params?.['clientInfo'];
  const name =
    params?.['name'] ??
    params?.['uri'] ??
    params?.['level'] ??
    params?.['requestId'] ??
    (isObject(ref) ? (ref['name'] ?? ref['uri']) : undefined) ??
    (method === 'initialize' && isObject(clientInfo) ? clientInfo['name'] : undefined);
  const isText = typeof name === 'string' || typeof name === 'number';
  return {
    method: method.slice(0, maxText),
    ...(isText && name !== '' ? { name: String(name).slice(0, maxText) } : {}),
    type: kind,
  };
}

function outcomeOf(response: Message | undefined): AuditOutcome {
  if (response === undefined) return 'failure';
  const { result, error } = response.value;
  if (error === undefined) return isObject(result) && result['isError'] === true ? 'failure' : 'success';
  const { code } = error;
  const isServers = code === -32603 || (code <= errorCodes.serverError && code >= -32099);
  return isServers ? 'error' : 'failure';
}

function outcomeOfStatus(status: number): AuditOutcome {
  if (status === 401 || status === 403) return 'denied';
  if (status < 400) return 'success';
  return status < 500 ? 'failure' : 'error';
}

function transportOf(path = ''): 'sse' | 'http' {
  return path === '/sse' || path === '/messages' ? 'sse' : 'http';
}

function sourceOf(exchange: Exchange | undefined, trustsProxyHeaders: boolean): AuditEntry['source'] {
  if (exchange === undefined) return { type: 'network', value: 'unknown' };
  const { headers, socket } = exchange.request;
  const { 'user-agent': userAgent, 'x-request-id': requestId } = headers;
  const extra = {
    ...(requestId === undefined ? {} : { request_id: String(requestId).slice(0, maxText) }),
    ...(userAgent === undefined ? {} : { user_agent: userAgent.slice(0, maxText) }),
  };
  const peer = (socket.remoteAddress ?? 'unknown').replace(/^::ffff:(?=\d+\.)/, '');
  const value = (trustsProxyHeaders ? forwardedFor(headers) : undefined) ?? peer;
  return { type: 'network', value, ...(Object.keys(extra).length === 0 ? {} : { extra }) };
}

/** The client as a reverse proxy saw it. Clients can begin the list with anything, so only its last address counts. */
function forwardedFor(headers: Exchange['request']['headers']): string | undefined {
  const list = String(headers['x-forwarded-for'] ?? headers['x-real-ip'] ?? '');
  const last = list.slice(list.lastIndexOf(',') + 1).trim();
  return isIP(last) === 0 ? undefined : last;
}

function isLocal(address: string): boolean {
  return address === '::1' || address.startsWith('127.');
}

function clientOf(client: Caller['client'] | undefined): Record<string, string> {
  const info = client?.clientInfo;
  if (!isObject(info)) return {};
  const { name, version } = info;
  return {
    ...(typeof name === 'string' && name !== '' ? { client_name: name.slice(0, maxText) } : {}),
    ...(typeof version === 'string' && version !== '' ? { client_version: version.slice(0, maxText) } : {}),
  };
}

/** The user in the words of the original: what a token says, or the user of this machine. */
export function userOf({ id, claims }: Principal, localUser: string | undefined): Record<string, string> {
  if (id === '') {
    if (localUser === undefined) return { user: 'anonymous' };
    return { user: `Local User: ${localUser}`, user_id: localUser };
  }
  const texts = [claims?.['name'], claims?.['preferred_username'], claims?.['email']];
  const user = texts.find((text): text is string => typeof text === 'string' && text !== '');
  const { sub } = claims ?? {};
  return {
    user: (user ?? 'anonymous').slice(0, maxText),
    user_id: (typeof sub === 'string' && sub !== '' ? sub : id).slice(0, maxText),
  };
}
