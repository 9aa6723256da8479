import { isIP } from 'node:net';
import type { AuditOutcome, AuditRecord } from '@toolhive/contract/audit';
import { bytesOf, errorCodes, isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { onceClosed } from '../http/closing.ts';
import { CallTracker, isDenial, isStream } from './call-tracker.ts';
import type { CallContext, Caller, Exchange, Middleware, Principal, RefusedCall } from './middleware.ts';
import { usesOfExtensions } from '../protocol/extensions.ts';

/** One event, without the fields that the audit log adds. */
export interface AuditEntry extends Pick<
  AuditRecord,
  'type' | 'outcome' | 'component' | 'source' | 'subjects' | 'target' | 'metadata' | 'workload'
> {
  bodies?: { request?: AuditedBody; response?: AuditedBody };
}

/** The text of a body, or the size in bytes if the body exceeds the recording limit. */
export type AuditedBody = string | number;

export interface AuditOptions {
  /** Receives events. Must return immediately. */
  record: (entry: AuditEntry) => void;
  /** The calls that are recorded. If absent, only denials are. */
  calls?: AuditedCalls | undefined;
  /** The user of this machine, who is the caller if the proxy does not authenticate. */
  localUser: string;
  /** Whether a reverse proxy reports the client address. */
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

/** How much of one text of a client is recorded. */
const maxText = 512;

/** Records calls and denials. Undefined if nothing takes the records. */
export function audit({ audit: options, workload, access, tracker }: AuditRowOptions): Audit | undefined {
  if (options === undefined) return undefined;
  const all = { ...options, workload: workload ?? '', isAuthenticating: access !== undefined };
  return new Audit(all, tracker);
}

interface AuditRowOptions {
  audit?: AuditOptions | undefined;
  workload?: string | undefined;
  access?: object | undefined;
  /** Follows the calls for other middleware, too. */
  tracker?: CallTracker | undefined;
}

/**
 * Records one entry for each client request and notification, each server request, and each HTTP request that
 * contains no message or is refused before its message is read. As the outermost middleware, it records the decisions
 * of all others. Without `calls`, it reads no messages and records only denials.
 */
export class Audit implements Middleware {
  readonly #options: AuditOptions & { workload: string; isAuthenticating: boolean };
  readonly #now: () => number;
  readonly #tracker: CallTracker;
  readonly isObserver = true;
  readonly message: Middleware['message'];

  constructor(
    options: AuditOptions & { workload: string; isAuthenticating: boolean },
    tracker?: CallTracker,
  ) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#tracker = tracker ?? new CallTracker(this.#now);
    this.#tracker.tell({
      ended: ({ context, exchange, denied }, { response, reason, durationMs }) =>
        this.#record(context, exchange, {
          outcome: denied === undefined ? outcomeOf(response) : 'denied',
          reason: denied ?? reason,
          response,
          durationMs,
        }),
      notified: (context, exchange) => this.#record(context, exchange, { outcome: 'success' }),
      asked: (context) => this.#record(context, undefined, { outcome: 'success' }),
      refused: (context, exchange, reason) => this.#record(context, exchange, { outcome: 'denied', reason }),
      unread: (exchange, startMs, status) => this.#recordHttp(exchange, startMs, status),
    });
    const see = (context: CallContext): Message => {
      this.#tracker.see(context);
      return context.message;
    };
    if (options.calls !== undefined) this.message = see;
  }

  readonly request = (exchange: Exchange, next: () => void): void => {
    if (this.#options.calls === undefined) return this.#recordDenials(exchange, next);
    this.#tracker.follow(exchange);
    next();
  };

  /** Records a message that another middleware has refused. */
  readonly refused = (call: RefusedCall): void => this.#tracker.seeRefused(call);

  /** Records the requests that are still waited for, when the proxy ends. */
  close(): void {
    this.#tracker.close();
  }

  /** Costs nothing for a request that is not refused at once, unless callers are authenticated. */
  #recordDenials(exchange: Exchange, next: () => void): void {
    const { response } = exchange;
    const record = (): void => {
      if (isDenial(response)) this.#recordHttp(exchange, undefined, response.statusCode);
    };
    if (this.#options.isAuthenticating) {
      onceClosed(response, record);
      return next();
    }
    next();
    record();
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
    // Assignments instead of spreads, because this runs for every call.
    const extra: Record<string, unknown> = {};
    if (durationMs !== undefined) extra['duration_ms'] = Math.round(durationMs);
    if (reason !== undefined) extra['reason'] = reason.slice(0, maxText);
    if (response !== undefined) extra['response_size_bytes'] = bytesOf(response);
    extra['transport'] = transportOf(exchange?.path);
    const entry: AuditEntry = {
      ...this.#common(exchange, principal, client),
      type,
      outcome,
      target: exchange === undefined ? target : { endpoint: exchange.path.slice(0, maxText), ...target },
      metadata: { extra },
    };
    if (requestBody !== undefined || responseBody !== undefined) {
      entry.bodies = {
        ...(requestBody === undefined ? {} : { request: requestBody }),
        ...(responseBody === undefined ? {} : { response: responseBody }),
      };
    }
    this.#options.record(entry);
  }

  #recordHttp(exchange: Exchange, startMs: number | undefined, status: number): void {
    const { request, path, message, principal } = exchange;
    const outcome = outcomeOfStatus(status);
    const isOfStream = isStream(exchange);
    const type = isOfStream ? 'sse_connection' : message === undefined ? 'http_request' : typeOf(message);
    if (!this.#isRecorded(type, outcome)) return;
    const target =
      message === undefined || isOfStream
        ? { method: request.method ?? '', type: isOfStream ? 'sse_endpoint' : 'endpoint' }
        : targetOf(message);
    this.#options.record({
      ...this.#common(exchange, principal),
      type,
      outcome,
      target: { endpoint: path.slice(0, maxText), ...target },
      metadata: {
        extra: {
          ...(startMs === undefined ? {} : { duration_ms: Math.round(this.#now() - startMs) }),
          status_code: status,
          transport: transportOf(path),
        },
      },
    });
  }

  /** Denials are always recorded, even if the workload's audit configuration excludes the event type. */
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
    const user = isLocal(source.value) ? localUser : undefined;
    const caller = principal.id === '' ? (exchange?.relayed?.principal ?? principal) : principal;
    return {
      component: calls?.component ?? workload,
      source,
      subjects: { ...clientOf(client), ...userOf(caller, user) },
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

/** The object of a message: its name and kind. */
function targetOf({ value: { method = '', params } }: Message): Record<string, string> {
  const used = Object.hasOwn(usesOfExtensions, method) ? usesOfExtensions[method] : undefined;
  const kind = method.startsWith('tools/call')
    ? 'tool'
    : method.startsWith('resources/')
      ? 'resource'
      : method.startsWith('prompts/get')
        ? 'prompt'
        : (used?.kind ?? 'endpoint');
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
  // A Unix socket has no addresses, and only the API listens on one.
  const unknown = exchange.relayed === undefined ? 'unknown' : '127.0.0.1';
  const peer = (exchange.clientAddress ?? socket.remoteAddress ?? unknown).replace(/^::ffff:(?=\d+\.)/, '');
  const value = (trustsProxyHeaders ? forwardedFor(headers) : undefined) ?? peer;
  const type = exchange.relayed === undefined ? 'network' : 'ui';
  return { type, value, ...(Object.keys(extra).length === 0 ? {} : { extra }) };
}

/**
 * The client address that a reverse proxy reports. Clients control the start of the list, so only the last address
 * counts.
 */
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

/** The user in the original's format: from the token's claims, or the operating system user. */
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
