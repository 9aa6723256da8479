import * as z from 'zod';

const text = z.string().optional();
const texts = z.array(z.string()).nullish();
const flag = z.boolean().optional();

/** What is written down of every call. Keys of other versions pass through untouched, here and below. */
export const AuditConfig = z.looseObject({
  component: text,
  event_types: texts,
  exclude_event_types: texts,
  include_request_data: flag,
  include_response_data: flag,
  max_data_size: z.int().optional(),
  log_file: text,
});

/** What is measured and traced, and who is told. */
export const TelemetryConfig = z.looseObject({
  endpoint: text,
  serviceName: text,
  serviceVersion: text,
  headers: z.record(z.string(), z.string()).nullish(),
  insecure: flag,
  tracingEnabled: flag,
  metricsEnabled: flag,
  samplingRate: z.number().min(0).max(1).optional(),
  enablePrometheusMetricsPath: flag,
  environmentVariables: texts,
  customAttributes: z.record(z.string(), z.string()).nullish(),
});

/** Which parts of shared folders a server does not see. */
export const IgnoreConfig = z.looseObject({ loadGlobal: flag, printOverlays: flag });
