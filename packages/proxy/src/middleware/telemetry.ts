import type { LookupFunction } from 'node:net';
import { createHash } from 'node:crypto';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  createTraceState,
  isSpanContextValid,
  trace,
} from '@opentelemetry/api';
import type { Attributes, Histogram, Link, Span, SpanContext, Tracer } from '@opentelemetry/api';
import { PassingMap } from '@toolhive/contract/passing';
import { onceClosed } from '../http/closing.ts';
import { insertMembers, isObject, readMessage, replaceAt, spanOf } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { isKnownMethod } from '../protocol/protocol.ts';
import { openExport } from './telemetry-export.ts';
import type { Exporting } from './telemetry-export.ts';
import type { CallContext, Exchange, Middleware } from './middleware.ts';

/** What is sent about a workload, and to which collector. */
export interface TelemetryOptions {
  /** The base URL of the OTLP endpoint. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  /** Resolves the name of the endpoint, if not every address is acceptable. */
  lookup?: LookupFunction;
  /** The URL of a corporate proxy for the connections. */
  proxy?: string | undefined;
  /** What describes the workload as a whole. */
  resource: Readonly<Record<string, string>>;
  /** What each span contains. */
  attributes: Readonly<Record<string, string>>;
  /** The share of traces that is sent, from 0 to 1. Undefined if no traces are sent. */
  samplingRate: number | undefined;
  metrics: boolean;
  /** Called when the endpoint fails, and again only after a success in between. */
  onFailure: (reason: string) => void;
  /** How often spans and metrics are sent, in tests. */
  intervalMs?: number;
}

/**
 * The names of the OpenTelemetry semantic conventions for MCP (open-telemetry/semantic-conventions-genai, model/mcp, status
 * Development, as of 2026-11). The constants of `@opentelemetry/semantic-conventions` 1.45 are deprecated in favor of these.
 */
const names = {
  method: 'mcp.method.name',
  session: 'mcp.session.id',
  version: 'mcp.protocol.version',
  resource: 'mcp.resource.uri',
  request: 'jsonrpc.request.id',
  status: 'rpc.response.status_code',
  tool: 'gen_ai.tool.name',
  prompt: 'gen_ai.prompt.name',
  operation: 'gen_ai.operation.name',
  error: 'error.type',
  transport: 'network.transport',
  operationDuration: 'mcp.server.operation.duration',
  sessionDuration: 'mcp.server.session.duration',
} as const;

/** The bounds that the conventions give for both histograms, in seconds. */
const buckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** How many names of tools are distinguished by metrics. Clients can make up any number. */
const maxTools = 200;
const maxText = 256;
/** How many sessions are measured, and how long a session may be silent before it counts as ended. */
const maxSessions = 10_000;
const silentMs = 30 * 60_000;
const sweepMs = 60_000;
/** A longer message is forwarded unchanged, because rewriting requires parsing it again. */
const maxRewritten = 256 * 1024;

/** Traces and measures the requests of clients. */
export interface Telemetry extends Middleware {
  /** Sends the remaining data, within a time limit. */
  close(): Promise<void>;
}

interface Running {
  startMs: number;
  span: Span | undefined;
  version: string;
  hasSession: boolean;
}

interface Session {
  startMs: number;
  lastMs: number;
  version: string;
  pseudonym: string;
}

/** Loads OpenTelemetry, and begins to send to the endpoint. */
export async function openTelemetry(workload: string, options: TelemetryOptions): Promise<Telemetry> {
  return new ProxyTelemetry(workload, options, await openExport(options));
}

class ProxyTelemetry implements Telemetry {
  readonly #workload: string;
  readonly #options: TelemetryOptions;
  readonly #export: Exporting;
  readonly #tracer: Tracer | undefined;
  readonly #operations: Histogram | undefined;
  readonly #sessionDurations: Histogram | undefined;
  // Maps, because every weak reference costs the garbage collector about as much as the rest of a call.
  /** The HTTP request of each message, until the HTTP response ends. */
  readonly #exchanges = new PassingMap<Message, Exchange>();
  /** The requests without a response, until their HTTP response ends. */
  readonly #running = new PassingMap<Message, Running>();
  /** Requests whose HTTP response has ended. Their response may arrive on another connection, or never. */
  readonly #detached = new WeakMap<Message, Running>();
  readonly #tools = new Set<string>();
  readonly #sessions = new Map<string, Session>();
  readonly #sweeping: NodeJS.Timeout;

  constructor(workload: string, options: TelemetryOptions, exporting: Exporting) {
    this.#workload = workload;
    this.#options = options;
    this.#export = exporting;
    this.#tracer = exporting.tracer;
    const advice = { explicitBucketBoundaries: buckets };
    this.#operations = exporting.meter?.createHistogram(names.operationDuration, {
      description: 'The duration of MCP requests as observed by the proxy.',
      unit: 's',
      advice,
    });
    this.#sessionDurations = exporting.meter?.createHistogram(names.sessionDuration, {
      description: 'The duration of MCP sessions as observed by the proxy.',
      unit: 's',
      advice,
    });
    this.#sweeping = setInterval(() => this.#sweep(performance.now() - silentMs), sweepMs).unref();
  }

  readonly request = (exchange: Exchange, next: () => void): void => {
    const told = exchange.onMessages;
    const { request, response } = exchange;
    const onMessages = (messages: readonly Message[]): void => {
      told?.(messages);
      if (response.closed) return;
      for (const message of messages) this.#exchanges.set(message, exchange);
      onceClosed(response, () => this.#closed(messages));
    };
    exchange.onMessages = onMessages;
    const session = request.method === 'DELETE' ? request.headers['mcp-session-id'] : undefined;
    if (session !== undefined) {
      response.once('finish', () => {
        if (response.statusCode < 300) this.#ended(String(session), performance.now());
      });
    }
    next();
  };

  readonly isObserver = true;
  readonly message = (context: CallContext): Message => {
    const { direction, message, request } = context;
    if (direction === 'to server' && message.kind === 'request') return this.#begin(context);
    if (direction === 'to client' && message.kind === 'response' && request !== undefined)
      this.#finish(request, context);
    return message;
  };

  async close(): Promise<void> {
    clearInterval(this.#sweeping);
    this.#sweep(Infinity);
    await this.#export.close();
  }

  #begin(context: CallContext): Message {
    const { message, session, client } = context;
    const startMs = performance.now();
    const pseudonym =
      session === undefined ? undefined : this.#noteSession(session, client.protocolVersion, startMs);
    const span = this.#tracer === undefined ? undefined : this.#startSpan(this.#tracer, context, pseudonym);
    const exchange = this.#exchanges.get(message);
    const running = { startMs, span, version: client.protocolVersion, hasSession: session !== undefined };
    if (exchange === undefined) this.#detached.set(message, running);
    else this.#running.set(message, running);
    return span?.isRecording() === true ? withContext(message, span.spanContext()) : message;
  }

  /** Undefined for a trace that starts here and is not sampled. */
  #startSpan(
    tracer: Tracer,
    { message, client }: CallContext,
    pseudonym: string | undefined,
  ): Span | undefined {
    const { method = '', params } = message.value;
    const carried = params?._meta;
    const { headers = {} } = this.#exchanges.get(message)?.request ?? {};
    const inMessage = spanContextOf(carried?.['traceparent'], carried?.['tracestate']);
    const inHeaders = spanContextOf(headers['traceparent'], headers['tracestate']);
    const parent = inMessage ?? inHeaders;
    if (parent === undefined && Math.random() >= (this.#options.samplingRate ?? 0)) return undefined;
    const links: Link[] = inMessage !== undefined && inHeaders !== undefined ? [{ context: inHeaders }] : [];
    const known = methodOf(message);
    const subject = subjectOf(message);
    const named = subject?.[names.tool] ?? subject?.[names.prompt];
    const span = tracer.startSpan(
      named === undefined ? known : `${known} ${named}`,
      { kind: SpanKind.SERVER, links },
      parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
    );
    if (!span.isRecording()) return span;
    span.setAttributes({
      ...this.#options.attributes,
      ...subject,
      [names.method]: known === otherMethod ? method.slice(0, maxText) : known,
      [names.request]: String(message.value.id).slice(0, maxText),
      [names.version]: client.protocolVersion.slice(0, maxText),
      [names.transport]: 'tcp',
      'mcp.server.name': this.#workload,
      ...(pseudonym === undefined ? {} : { [names.session]: pseudonym }),
    });
    return span;
  }

  #finish(request: Message, { message: response, client }: CallContext): void {
    const running = this.#running.get(request) ?? this.#detached.get(request);
    if (running === undefined) return;
    this.#running.delete(request);
    this.#detached.delete(request);
    const { error, result } = response.value;
    const failure =
      error === undefined
        ? isObject(result) && result['isError'] === true
          ? 'tool_error'
          : undefined
        : String(error.code);
    this.#end(request, running, { failure, code: error?.code, version: client.protocolVersion });
  }

  /** Without a response, a span would never be sent. A client with a session can still receive one elsewhere. */
  #closed(messages: readonly Message[]): void {
    for (const message of messages) {
      this.#exchanges.delete(message);
      const running = this.#running.get(message);
      if (running === undefined) continue;
      this.#running.delete(message);
      if (running.hasSession) this.#detached.set(message, running);
      else this.#end(message, running, { failure: 'cancelled', code: undefined, version: running.version });
    }
  }

  #end(
    request: Message,
    { startMs, span }: Running,
    { failure, code, version }: { failure: string | undefined; code: number | undefined; version: string },
  ): void {
    const problem = failure === undefined ? {} : { [names.error]: failure };
    if (span?.isRecording() === true) {
      span.setAttributes({ ...problem, ...(code === undefined ? {} : { [names.status]: String(code) }) });
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    }
    this.#operations?.record((performance.now() - startMs) / 1000, {
      ...this.#subjectOfMetric(request),
      ...problem,
      [names.method]: methodOf(request),
      [names.version]: knownVersion(version),
      [names.transport]: 'tcp',
    });
  }

  #subjectOfMetric(request: Message): Attributes {
    const name = subjectOf(request)?.[names.tool];
    if (name === undefined) return {};
    if (this.#tools.size < maxTools) this.#tools.add(name);
    return { [names.operation]: 'execute_tool', [names.tool]: this.#tools.has(name) ? name : '_OTHER' };
  }

  /** Returns the pseudonym of the session. */
  #noteSession(id: string, version: string, nowMs: number): string {
    const known = this.#sessions.get(id);
    if (known !== undefined) {
      known.lastMs = nowMs;
      return known.pseudonym;
    }
    const pseudonym = pseudonymOf(id);
    if (this.#sessions.size < maxSessions)
      this.#sessions.set(id, { startMs: nowMs, lastMs: nowMs, version, pseudonym });
    return pseudonym;
  }

  #ended(id: string, endMs: number): void {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    this.#sessionDurations?.record((endMs - session.startMs) / 1000, {
      [names.version]: knownVersion(session.version),
      [names.transport]: 'tcp',
    });
  }

  /** Ends the sessions that have been silent since. */
  #sweep(sinceMs: number): void {
    for (const [id, { lastMs }] of this.#sessions) if (lastMs < sinceMs) this.#ended(id, lastMs);
  }
}

const otherMethod = '_OTHER';

function methodOf({ value: { method = '' } }: Message): string {
  return isKnownMethod(method) ? method : otherMethod;
}

/** Versions are dates. Clients can claim anything, and each value makes further series. */
function knownVersion(version: string): string {
  return /^20[2-9]\d-[01]\d-[0-3]\d$/.test(version) ? version : otherMethod;
}

/** The tool, prompt, or resource that a request is about. */
function subjectOf({ value: { method, params } }: Message): Record<string, string> | undefined {
  const { name, uri } = params ?? {};
  if (method === 'tools/call' && typeof name === 'string')
    return { [names.operation]: 'execute_tool', [names.tool]: name.slice(0, maxText) };
  if (method === 'prompts/get' && typeof name === 'string') return { [names.prompt]: name.slice(0, maxText) };
  if (method?.startsWith('resources/') === true && typeof uri === 'string')
    return { [names.resource]: withoutCredentials(uri).slice(0, maxText) };
  return undefined;
}

/** User names, passwords, and queries of URLs are arguments. */
function withoutCredentials(uri: string): string {
  return uri.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1');
}

/** Distinguishes sessions. With the ID itself, any reader could use the session. */
function pseudonymOf(session: string): string {
  return createHash('sha256').update(session).digest('hex').slice(0, 32);
}

/** Reads a trace context (W3C Trace Context, section 3.2). */
export function spanContextOf(parent: unknown, state: unknown): SpanContext | undefined {
  if (typeof parent !== 'string') return undefined;
  const found = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(parent);
  const [, traceId = '', spanId = '', flags = ''] = found ?? [];
  const hasState = typeof state === 'string' && state.length <= 512;
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(hasState ? { traceState: createTraceState(state) } : {}),
  };
  return isSpanContextValid(context) ? context : undefined;
}

/** The methods whose parameters servers accept with further members in any case. */
const carrying: readonly unknown[] = ['tools/call', 'prompts/get', 'resources/read'];

/** Returns a request that carries the context of its span to the server, in `_meta` (MCP, General fields). */
function withContext(message: Message, { traceId, spanId, traceFlags }: SpanContext): Message {
  const { text, value } = message;
  if (!carrying.includes(value.method) || value.params === undefined || text.length > maxRewritten)
    return message;
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`;
  const present = spanOf(text, ['params', '_meta', 'traceparent']);
  return readMessage(
    present === undefined
      ? insertMembers(text, ['params', '_meta'], { traceparent })
      : replaceAt(text, present, JSON.stringify(traceparent)),
  );
}
