import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Counter, Histogram, UpDownCounter } from '@opentelemetry/api';
import { isObject } from '../jsonrpc/message.ts';
import type { Message } from '../jsonrpc/message.ts';
import { withAnswer } from '../connection/connection.ts';
import type { Responder } from '../connection/connection.ts';
import type { Exchange, MessageMiddleware, Middleware, Passed } from '../pipeline.ts';
import { isKnownMethod } from '../protocol/protocol.ts';
import { takesEvents } from '../endpoint/post-reply.ts';
import { replyText } from '../http/reply.ts';

/** How many tools are counted by name: names come from clients, and each makes a series of its own. */
const maxTools = 200;
/** The longest name that is a label; longer ones would only fill the memory. */
const maxToolName = 128;

/** Where the request of an event stream has no message to be named by. */
const streamMethod = 'sse_connection';

/** Counts what goes through one proxy, and tells it in the text format of Prometheus. */
export interface Metrics extends MessageMiddleware {
  /** Counts requests, the refused ones too. */
  count: Middleware;
  /** Answers with all figures. */
  serve(exchange: Exchange): void;
}

/** The names and labels are those that dashboards for ToolHive know. Loads what collects them only when it is needed. */
export async function openMetrics(server: string, transport: string): Promise<Metrics> {
  const [{ MeterProvider }, { PrometheusExporter }] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-prometheus'),
  ]);
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true, // it would name a path of this machine
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
    write: (request, response) => exporter.getMetricsRequestHandler(request, response),
  });
}

interface Instruments {
  common: { server: string; transport: string };
  requests: Counter;
  durations: Histogram;
  streams: UpDownCounter;
  toolCalls: Counter;
  write: (request: IncomingMessage, response: ServerResponse) => void;
}

class ProxyMetrics implements Metrics {
  readonly #instruments: Instruments;
  readonly #tools = new Set<string>();

  constructor(instruments: Instruments) {
    this.#instruments = instruments;
    // Dashboards and alerts need the gauge before the first stream is opened.
    instruments.streams.add(0, this.#streamLabels);
  }

  get #streamLabels(): Record<string, string> {
    return { ...this.#instruments.common, connection_type: 'sse' };
  }

  readonly count: Middleware = (exchange, next) => {
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

  pass(message: Message, reply: Responder): Passed {
    if (message.value.method !== 'tools/call') return { message, reply };
    const { common, toolCalls } = this.#instruments;
    const tool = this.#toolOf(message);
    const counted = withAnswer(reply, (text, value) => {
      const { result, error } = value;
      const isFailure = error !== undefined || (isObject(result) && result['isError'] === true);
      toolCalls.add(1, { ...common, tool, status: isFailure ? 'error' : 'success' });
      reply.answer(text, value);
    });
    return { message, reply: counted };
  }

  serve({ request, response }: Exchange): void {
    if (request.method !== 'GET') return replyText(response, 405, 'use GET', { allow: 'GET' });
    this.#instruments.write(request, response);
  }

  #toolOf({ value: { params } }: Message): string {
    const name = params?.['name'];
    if (typeof name !== 'string') return 'unknown';
    if (this.#tools.size < maxTools && name.length <= maxToolName) this.#tools.add(name);
    return this.#tools.has(name) ? name : 'other';
  }
}

/** A client may make up any method, so that only those of the protocol are told apart. */
function nameOf(message: Message | undefined): string {
  const method = message?.value.method;
  return method !== undefined && isKnownMethod(method) ? method : 'unknown';
}
