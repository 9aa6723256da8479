import type { SettingName } from '@toolhive/contract/setting';
import type { CreateWorkload } from '@toolhive/contract/workload';
import type { Core } from '../core.ts';
import { valueOf } from '../settings/settings.ts';
import type { WorkloadRequest } from './create.ts';

type Telemetry = NonNullable<CreateWorkload['telemetry_config']>;

/**
 * Which setting stands in for which part of a request. Not the endpoint: nothing is sent yet, and what is set for
 * everything is no reason to run nothing. The setting itself says so.
 */
const standIns = {
  metricsEnabled: 'otel-metrics-enabled',
  tracingEnabled: 'otel-tracing-enabled',
  samplingRate: 'otel-sampling-rate',
  environmentVariables: 'otel-env-vars',
  insecure: 'otel-insecure',
  enablePrometheusMetricsPath: 'otel-enable-prometheus-metrics-path',
} as const satisfies Partial<Record<keyof Telemetry, SettingName>>;

/**
 * A request with what is set for the whole hive about telemetry, where it does not say otherwise itself. A run config
 * says everything.
 */
export function withTelemetrySettings({ settings }: Core, request: WorkloadRequest): WorkloadRequest {
  if (request.schema_version !== undefined) return request;
  const set = Object.entries(standIns).flatMap(([part, name]) => {
    const value = valueOf(settings.current, name);
    return value === undefined ? [] : [[part, value]];
  });
  if (set.length === 0) return request;
  return { ...request, telemetry_config: { ...Object.fromEntries(set), ...request.telemetry_config } };
}
