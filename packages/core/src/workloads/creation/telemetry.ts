import type { TelemetryOptions } from '@toolhive/proxy/telemetry';
import type { Logger } from 'pino';
import type { SettingName } from '@toolhive/contract/setting';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { valueOf } from '@toolhive/state/values';
import type { Settings } from '@toolhive/state/settings-file';
import { telemetryOf } from '../../supervision/telemetry-options.ts';

type Telemetry = NonNullable<CreateWorkload['telemetry_config']>;

/** The setting that provides the default of each request field. */
const standIns = {
  endpoint: 'otel-endpoint',
  metricsEnabled: 'otel-metrics-enabled',
  tracingEnabled: 'otel-tracing-enabled',
  samplingRate: 'otel-sampling-rate',
  environmentVariables: 'otel-env-vars',
  insecure: 'otel-insecure',
  enablePrometheusMetricsPath: 'otel-enable-prometheus-metrics-path',
} as const satisfies Partial<Record<keyof Telemetry, SettingName>>;

/** What `thv serve` sends about its own API, with the settings of config.yaml. Undefined without an endpoint. */
export function apiTelemetryOptions(
  settings: Settings,
  { version, env, log }: { version: string; env: NodeJS.ProcessEnv; log: Logger },
): TelemetryOptions | undefined {
  const telemetry_config = { serviceName: 'toolhive-api', ...telemetrySettings(settings) };
  const onFailure = (why: string): void => log.warn({ why }, 'telemetry cannot be sent to its endpoint');
  return telemetryOf({ telemetry_config }, { version, env, onFailure });
}

/** Adds the telemetry settings of config.yaml to a request, as far as the request does not contain its own. */
export function withTelemetrySettings(request: CreateWorkload, settings: Settings): CreateWorkload {
  const set = telemetrySettings(settings);
  if (Object.keys(set).length === 0) return request;
  return { ...request, telemetry_config: { ...set, ...request.telemetry_config } };
}

function telemetrySettings(settings: Settings): Telemetry {
  const set = Object.entries(standIns).flatMap(([part, name]) => {
    const value = valueOf(settings, name);
    return value === undefined ? [] : [[part, value]];
  });
  return Object.fromEntries(set) as Telemetry; // `valueOf` checks the types
}
