import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Counter, Gauge, Histogram, UpDownCounter } from '@opentelemetry/api';
import { tokensOfTool } from '@toolhive/contract/tokens';
import { isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { takesEvents } from '../http/accept.ts';
import { replyText } from '../http/reply.ts';
import { isKnownMethod } from '../protocol/protocol.ts';
import type { CallContext, Exchange, Middleware } from './middleware.ts';

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
    write: (request, response) => exporter.getMetricsRequestHandler(request, response),
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

class ProxyMetrics implements Metrics {
  readonly #instruments: Instruments;
  readonly #tools = new Set<string>();
  /** The latest list of tools. */
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
    response.once('close', () => {
      if (isStream) streams.add(-1, stream);
      const labels = {
        ...common,
        method: request.method ?? '',
        status_code: String(response.statusCode),
        status: response.statusCode < 400 ? 'success' : 'error',
        mcp_method: isStream ? streamMethod : nameOf(exchange.message),
      };
      requests.add(1, labels);
      if (!isStream) durations.record((performance.now() - start) / 1000, labels);
    });
    next();
  };

  readonly isObserver = true;
  readonly message = ({ direction, message, request }: CallContext): Message => {
    if (direction === 'to client' && message.kind === 'response' && request?.value.method === 'tools/list')
      this.#countTokens(message, request);
    if (direction === 'to client' && message.kind === 'response' && request?.value.method === 'tools/call') {
      const { result, error } = message.value;
      const isFailure = error !== undefined || (isObject(result) && result['isError'] === true);
      const { common, toolCalls } = this.#instruments;
      toolCalls.add(1, { ...common, tool: this.#toolOf(request), status: isFailure ? 'error' : 'success' });
    }
    return message;
  };

  serve({ request, response }: Exchange): void {
    if (request.method !== 'GET') return replyText(response, 405, 'use GET', { allow: 'GET' });
    this.#instruments.write(request, response);
  }

  /** Estimates the tokens of the tools in a complete list, once for each list that differs. */
  #countTokens({ value: { result } }: Message, { value: { params } }: Message): void {
    const tools = isObject(result) && result['nextCursor'] === undefined ? result['tools'] : undefined;
    if (!Array.isArray(tools) || params?.['cursor'] !== undefined) return;
    const text = JSON.stringify(tools);
    if (text === this.#listed) return;
    this.#listed = text;
    const tokens = tools.filter(isObject).reduce((sum, tool) => sum + tokensOfTool(tool), 0);
    this.#instruments.listingTokens.record(tokens, this.#instruments.common);
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
