import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Counter, Gauge, Histogram, UpDownCounter } from '@opentelemetry/api';
import { PassingMap } from '@toolhive/contract/passing';
import { tokensOfTools } from '@toolhive/contract/tokens';
import { isObject } from '../jsonrpc/message.ts';
import { digestOf } from '../jsonrpc/repeated-answers.ts';
import type { Message } from '../jsonrpc/message.ts';
import { takesEvents } from '../http/accept.ts';
import { onceClosed } from '../http/closing.ts';
import { replyText } from '../http/reply.ts';
import { isKnownMethod } from '../protocol/protocol.ts';
import type { CallContext, Exchange, Middleware, RefusedCall } from './middleware.ts';

/** How many tools have separate series. Clients choose tool names, and each name creates a series. */
const maxTools = 200;
/** The longest tool name that becomes a label. Longer names would only use memory. */
const maxToolName = 128;

/** What the request of an event stream, which has no message, is counted as. */
const streamMethod = 'sse_connection';

/** Counts the requests to one proxy, the refused ones too, and reports them in the text format of Prometheus. */
export interface Metrics extends Middleware {
  /** Answers with all figures. */
  serve(exchange: Exchange): void;
}

/** The text format of Prometheus. */
const metricsMediaType = 'text/plain; version=0.0.4; charset=utf-8';

/** Loads OpenTelemetry, and counts under the names and labels that dashboards for ToolHive know. */
export async function openMetrics(server: string, transport: string): Promise<Metrics> {
  const [{ MeterProvider }, { PrometheusExporter }] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-prometheus'),
  ]);
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true, // target information would reveal a path on this machine
  });
  const meter = new MeterProvider({ readers: [exporter] }).getMeter('toolhive');
  return new ProxyMetrics({
    common: { server, transport },
    requests: meter.createCounter('toolhive_mcp_requests', { description: 'Requests that were answered.' }),
    durations: meter.createHistogram('toolhive_mcp_request_duration_seconds', {
      description: 'How long requests took until they were answered.',
      unit: 's',
      advice: { explicitBucketBoundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300] },
    }),
    streams: meter.createUpDownCounter('toolhive_mcp_active_connections', {
      description: 'Event streams that are open.',
    }),
    toolCalls: meter.createCounter('toolhive_mcp_tool_calls', { description: 'Calls of tools, by outcome.' }),
    listingTokens: meter.createGauge('toolhive_mcp_listing_tokens', {
      description: 'Estimated tokens of the tools that clients list.',
    }),
    write(request, response) {
      exporter.getMetricsRequestHandler(request, response);
      // The exporter names no version, and sends its headers only after it has collected the figures.
      if (!response.headersSent) response.setHeader('content-type', metricsMediaType);
    },
  });
}

interface Instruments {
  common: { server: string; transport: string };
  requests: Counter;
  durations: Histogram;
  streams: UpDownCounter;
  toolCalls: Counter;
  listingTokens: Gauge;
  write: (request: IncomingMessage, response: ServerResponse) => void;
}

/** The messages of an HTTP request, and whether one of them was refused or answered with an error. */
interface Counted {
  messages: readonly Message[];
  hasError: boolean;
}

class ProxyMetrics implements Metrics {
  readonly #instruments: Instruments;
  readonly #tools = new Set<string>();
  /** The HTTP request of each message, until that is closed. A map, which is cheaper to collect than a weak one. */
  readonly #counted = new PassingMap<Message, Counted>();
  /** The hash of the latest list of tools. */
  #listed = '';

  constructor(instruments: Instruments) {
    this.#instruments = instruments;
    // Dashboards and alerts need the gauge before the first stream is opened.
    instruments.streams.add(0, this.#streamLabels);
  }

  get #streamLabels(): Record<string, string> {
    return { ...this.#instruments.common, connection_type: 'sse' };
  }

  readonly request = (exchange: Exchange, next: () => void): void => {
    const { request, response, path } = exchange;
    const { common, requests, durations, streams } = this.#instruments;
    const start = performance.now();
    const stream = this.#streamLabels;
    const isStream = request.method === 'GET' && (path === '/sse' || takesEvents(request));
    if (isStream) streams.add(1, stream);
    const counted = this.#follow(exchange);
    const count = (durationMs: number): void => {
      for (const message of counted.messages) this.#counted.delete(message);
      const labels = {
        ...common,
        method: request.method ?? '',
        status_code: String(response.statusCode),
        status: response.statusCode < 400 && !counted.hasError ? 'success' : 'error',
        mcp_method: isStream ? streamMethod : nameOf(exchange.message),
      };
      requests.add(1, labels);
      if (!isStream) durations.record(durationMs / 1000, labels);
    };
    onceClosed(response, () => {
      if (isStream) streams.add(-1, stream);
      const durationMs = performance.now() - start;
      // A message that was only accepted may be refused in a later turn of the event loop.
      if (response.statusCode === 202) setImmediate(count, durationMs);
      else count(durationMs);
    });
    next();
  };

  readonly isObserver = true;
  readonly message = ({ direction, message, request }: CallContext): Message => {
    if (direction === 'to server' || message.kind !== 'response' || request === undefined) return message;
    const { result, error } = message.value;
    if (error !== undefined) this.#fail(request); // also for a refused request, which is answered with the refusal
    if (request.value.method === 'tools/list') this.#countTokens(message, request);
    if (request.value.method === 'tools/call')
      this.#countCall(request, error !== undefined || (isObject(result) && result['isError'] === true));
    return message;
  };

  /** A refused response does not pass as a message, and neither does the refusal of a notification. */
  readonly refused = ({ context: { direction, message, request } }: RefusedCall): void => {
    if (direction === 'to server') return this.#fail(message);
    if (message.kind !== 'response' || request === undefined) return;
    this.#fail(request);
    if (request.value.method === 'tools/call') this.#countCall(request, true);
  };

  serve({ request, response }: Exchange): void {
    if (request.method !== 'GET') return replyText(response, 405, 'use GET', { allow: 'GET' });
    this.#instruments.write(request, response);
  }

  /** Most failures have the status 200, so their messages decide about the status of the request. */
  #follow(exchange: Exchange): Counted {
    const counted: Counted = { messages: [], hasError: false };
    const { onMessages: tellAlso } = exchange;
    const onMessages = (messages: readonly Message[]): void => {
      tellAlso?.(messages);
      if (exchange.response.closed) return;
      counted.messages = messages;
      for (const message of messages) this.#counted.set(message, counted);
    };
    exchange.onMessages = onMessages;
    return counted;
  }

  #fail(message: Message): void {
    const counted = this.#counted.get(message);
    if (counted !== undefined) counted.hasError = true;
  }

  #countCall(request: Message, isFailure: boolean): void {
    const { common, toolCalls } = this.#instruments;
    toolCalls.add(1, { ...common, tool: this.#toolOf(request), status: isFailure ? 'error' : 'success' });
  }

  /** Estimates the tokens of the tools in a complete list, once for each list that differs. */
  #countTokens(message: Message, { value: { params } }: Message): void {
    const { result } = message.value;
    const tools = isObject(result) && result['nextCursor'] === undefined ? result['tools'] : undefined;
    if (!Array.isArray(tools) || params?.['cursor'] !== undefined) return;
    const digest = digestOf(message);
    if (digest === this.#listed) return;
    this.#listed = digest;
    this.#instruments.listingTokens.record(tokensOfTools(tools.filter(isObject)), this.#instruments.common);
  }

  #toolOf({ value: { params } }: Message): string {
    const name = params?.['name'];
    if (typeof name !== 'string') return 'unknown';
    if (this.#tools.size < maxTools && name.length <= maxToolName) this.#tools.add(name);
    return this.#tools.has(name) ? name : 'other';
  }
}

/** Clients can make up methods, so only those of the protocol are distinguished. */
function nameOf(message: Message | undefined): string {
  const method = message?.value.method;
  return method !== undefined && isKnownMethod(method) ? method : 'unknown';
}
