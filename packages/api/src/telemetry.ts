import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { spanContextOf } from '@toolhive/proxy/telemetry';
import type { TelemetryOptions } from '@toolhive/proxy/telemetry';
import { openExport } from '@toolhive/proxy/telemetry-export';
import type { MiddlewareHandler } from 'hono';

/** Traces and measures the requests of the API. */
export interface ApiTelemetry extends AsyncDisposable {
  middleware: MiddlewareHandler;
}

/** The bounds that the conventions give for the duration of HTTP requests, in seconds. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Callers can make up any number of methods. */
const methods: readonly string[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

/**
 * Loads OpenTelemetry, and begins to send to the endpoint. Spans and metrics have the names of the semantic conventions for
 * HTTP. They contain the routes of operations, and neither the names of workloads and secrets nor anything of bodies.
 */
export async function openApiTelemetry(options: TelemetryOptions): Promise<ApiTelemetry> {
  const exporting = await openExport(options);
  const { tracer, meter } = exporting;
  const durations = meter?.createHistogram('http.server.request.duration', {
    description: 'The duration of API requests until their response began.',
    unit: 's',
    advice: { explicitBucketBoundaries: buckets },
  });
  return {
    async middleware(context, next) {
      const startMs = performance.now();
      const { req } = context;
      const method = methods.includes(req.method) ? req.method : '_OTHER';
      const parent = spanContextOf(req.header('traceparent'), req.header('tracestate'));
      const span = tracer?.startSpan(
        method,
        { kind: SpanKind.SERVER },
        parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent),
      );
      await next();
      const { status } = context.res;
      const route = context.get('route') as string | undefined; // set by `mounter`
      const attributes = {
        'http.request.method': method,
        'http.response.status_code': status,
        'url.scheme': 'http',
        ...(route === undefined ? {} : { 'http.route': route }),
        ...(status >= 500 ? { 'error.type': String(status) } : {}),
      };
      durations?.record((performance.now() - startMs) / 1000, attributes);
      if (span === undefined) return;
      if (route !== undefined) span.updateName(`${method} ${route}`);
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttributes({ ...options.attributes, ...attributes }).end();
    },
    [Symbol.asyncDispose]: () => exporting.close(),
  };
}
