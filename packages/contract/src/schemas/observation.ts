import * as z from 'zod';

const text = z.string().optional();
const texts = z.array(z.string()).nullish();
const flag = z.boolean().optional();

/** The largest body that an audit record can contain. */
const maxAuditedBytes = 256 * 1024;

/** Unknown keys of other versions are preserved, here and below. */
const ownAuditConfig = z.looseObject({
  component: text.meta({
    description: 'The component in the records. By default, the workload name.',
  }),
  event_types: texts.meta({ description: 'The types of events to record. By default, all types.' }),
  exclude_event_types: texts.meta({
    description: 'The types of events to exclude, even if event_types lists them.',
  }),
  include_request_data: flag.meta({ description: 'Record the body of requests, redacted.' }),
  include_response_data: flag.meta({ description: 'Record the body of responses, redacted.' }),
  max_data_size: z.int().min(0).max(maxAuditedBytes).optional().meta({
    description: 'The maximum size of a recorded body, in bytes. 1024 if absent or 0.',
  }),
  log_file: text.meta({
    description: 'The absolute path of a file for the records. By default, the audit log of ToolHive.',
  }),
});

/** The audit settings. Later versions of the original write their names as `logFile` instead of `log_file`. */
export const AuditConfig = z.preprocess(withOwnNames, ownAuditConfig);
export type AuditConfig = z.infer<typeof AuditConfig>;

function withOwnNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const renamed = Object.entries(value).map(([name, member]): [string, unknown] => {
    const own = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [Object.hasOwn(ownAuditConfig.shape, own) && !Object.hasOwn(value, own) ? own : name, member];
  });
  return Object.fromEntries(renamed);
}

/** The telemetry settings. */
export const TelemetryConfig = z.looseObject({
  endpoint: text.meta({ description: 'The host and port of an OTLP collector.' }),
  serviceName: text.meta({ description: 'The service name in traces and metrics.' }),
  serviceVersion: text.meta({ description: 'The service version in traces and metrics.' }),
  headers: z
    .record(z.string(), z.string())
    .nullish()
    .meta({ description: 'HTTP headers for the collector.' }),
  insecure: flag.meta({ description: 'Send telemetry over plain http.' }),
  tracingEnabled: flag.meta({ description: 'Send traces.' }),
  metricsEnabled: flag.meta({ description: 'Send metrics.' }),
  // Later versions of the original write a text.
  samplingRate: z
    .preprocess(
      (value) => (typeof value === 'string' && /^\d(?:\.\d{1,20})?$/.test(value) ? Number(value) : value),
      z.number().min(0).max(1).optional(),
    )
    .optional()
    .meta({ description: 'The share of traces to send.' }),
  enablePrometheusMetricsPath: flag.meta({ description: 'Provide metrics for Prometheus at /metrics.' }),
  environmentVariables: texts.meta({ description: 'Daemon environment variables to add to traces.' }),
  customAttributes: z
    .record(z.string(), z.string())
    .nullish()
    .meta({ description: 'More resource attributes of traces and metrics.' }),
});

/** The hidden files in mounted directories. */
export const IgnoreConfig = z.looseObject({
  loadGlobal: flag.meta({ description: 'Apply the global ignore file.' }),
  printOverlays: flag.meta({ description: 'List the hidden files.' }),
});
