import type { Meter, Tracer } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { messageOf } from '@toolhive/contract/failure';
import type { TelemetryOptions } from './telemetry.ts';

/** What is traced and measured with, and how that ends. */
export interface Exporting {
  tracer: Tracer | undefined;
  meter: Meter | undefined;
  close(): Promise<void>;
}

/** How often spans and metrics are sent. */
const spanMs = 5_000;
const metricMs = 60_000;
/** How many spans may wait to be sent. Further ones are dropped. */
const maxWaiting = 2_048;
/** How long the endpoint may take. */
const exportMs = 10_000;
/** How long the end of a workload waits for the last export. */
const closeMs = 2_000;

/** The answer of an exporter. Code 0 is success. */
interface Result {
  code: number;
  error?: Error;
}

/**
 * Loads the OTLP/HTTP exporters for spans and metrics. A failing endpoint is reported once and affects nothing else.
 */
export async function openExport(options: TelemetryOptions): Promise<Exporting> {
  const { samplingRate, metrics, onFailure } = options;
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const resource = resourceFromAttributes(options.resource);
  const report = reporter(onFailure);
  const tracing = samplingRate === undefined ? undefined : await openTracing(options, { resource, report });
  const metering = metrics ? await openMetering(options, { resource, report }) : undefined;
  return {
    tracer: tracing?.getTracer('toolhive'),
    meter: metering?.getMeter('toolhive'),
    async close() {
      const ended = Promise.allSettled([tracing?.shutdown(), metering?.shutdown()]);
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, closeMs);
      await Promise.race([ended, promise]);
      clearTimeout(timer);
    },
  };
}

interface Parts {
  resource: Resource;
  report: (result: Result) => void;
}

async function openTracing(options: TelemetryOptions, { resource, report }: Parts) {
  const [sdk, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  const {
    AlwaysOnSampler,
    BatchSpanProcessor,
    ParentBasedSampler,
    TraceIdRatioBasedSampler,
    TracerProvider,
  } = sdk;
  // By the trace ID alone: a client that asks for every one of its traces does not decide how much is sent.
  const byTraceId = new TraceIdRatioBasedSampler(options.samplingRate);
  const exporter = reported(new OTLPTraceExporter(endpointOf(options, 'traces')), report);
  return new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({
      // A trace that starts here has a span only if it is sampled.
      root: new AlwaysOnSampler(),
      remoteParentSampled: byTraceId,
      remoteParentNotSampled: byTraceId,
    }),
    spanLimits: { attributeValueLengthLimit: 512, linkCountLimit: 4 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: maxWaiting,
        scheduledDelayMillis: options.intervalMs ?? spanMs,
        exportTimeoutMillis: exportMs,
      }),
    ],
  });
}

async function openMetering(options: TelemetryOptions, { resource, report }: Parts) {
  const [{ MeterProvider, PeriodicExportingMetricReader }, { OTLPMetricExporter }] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-metrics-otlp-proto'),
  ]);
  const exporter = reported(new OTLPMetricExporter(endpointOf(options, 'metrics')), report);
  const intervalMs = options.intervalMs ?? metricMs;
  return new MeterProvider({
    resource,
    readers: [
      new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: intervalMs,
        exportTimeoutMillis: Math.min(exportMs, intervalMs),
      }),
    ],
  });
}

function endpointOf({ endpoint, headers, lookup, proxy }: TelemetryOptions, signal: 'traces' | 'metrics') {
  return {
    url: `${endpoint}/v1/${signal}`,
    headers: { ...headers },
    timeoutMillis: exportMs,
    concurrencyLimit: 2,
    httpAgentOptions: {
      ...(lookup === undefined ? {} : { lookup }),
      ...(proxy === undefined ? {} : { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } }),
      keepAlive: true,
    },
  };
}

/** Reports every result of an exporter, and hides failures from its caller, which would report them to everyone. */
function reported<Exporter extends { export: (items: never, done: (result: Result) => void) => void }>(
  exporter: Exporter,
  report: (result: Result) => void,
): Exporter {
  const send: (items: never, done: (result: Result) => void) => void = exporter.export.bind(exporter);
  const sendReported: typeof send = (items, done) =>
    send(items, (result) => {
      report(result);
      done({ code: 0 });
    });
  exporter.export = sendReported;
  return exporter;
}

function reporter(onFailure: (reason: string) => void): (result: Result) => void {
  let isFailing = false;
  return ({ code, error }) => {
    const hasFailed = code !== 0;
    if (hasFailed && !isFailing)
      onFailure(error === undefined ? 'the endpoint did not answer' : messageOf(error));
    isFailing = hasFailed;
  };
}
