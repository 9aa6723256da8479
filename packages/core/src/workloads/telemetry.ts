import type { SettingName } from '@toolhive/contract/setting';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { valueOf } from '../settings/settings.ts';
import type { Settings } from '../state/settings.ts';

type Telemetry = NonNullable<CreateWorkload['telemetry_config']>;

/** The setting that stands in for each part of a request. */
const standIns = {
  endpoint: 'otel-endpoint',
  metricsEnabled: 'otel-metrics-enabled',
  tracingEnabled: 'otel-tracing-enabled',
  samplingRate: 'otel-sampling-rate',
  environmentVariables: 'otel-env-vars',
  insecure: 'otel-insecure',
  enablePrometheusMetricsPath: 'otel-enable-prometheus-metrics-path',
} as const satisfies Partial<Record<keyof Telemetry, SettingName>>;

/** Adds the telemetry settings of config.yaml to a request, as far as the request does not contain its own. */
export function withTelemetrySettings(request: CreateWorkload, settings: Settings): CreateWorkload {
  const set = Object.entries(standIns).flatMap(([part, name]) => {
    const value = valueOf(settings, name);
    return value === undefined ? [] : [[part, value]];
  });
  if (set.length === 0) return request;
  return { ...request, telemetry_config: { ...Object.fromEntries(set), ...request.telemetry_config } };
}
