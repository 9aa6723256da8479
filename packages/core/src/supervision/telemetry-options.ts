import { hostname } from 'node:os';
import { invalidField } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { TelemetryOptions } from '@toolhive/proxy/telemetry';
import { neverAllowed } from '@toolhive/runtime/addresses';
import { guardedLookup, proxyFor } from '@toolhive/outgoing/way-out';
import { trustSystem } from '@toolhive/runtime/system-trust';
import { isSecretKey } from '@toolhive/audit/redaction';

/** As in the original. */
const defaultService = 'toolhive-mcp-proxy';
/** The defaults of `thv run`. */
const defaultRate = 0.1;

/** A run config, or its telemetry settings. */
type Configured = Pick<RunConfig, 'telemetry_config'>;

/** Throws `invalid` for a telemetry configuration with which nothing could be sent, or more than the user expects. */
export function checkTelemetry({ telemetry_config: config }: Configured): void {
  const { endpoint, tracingEnabled, metricsEnabled, environmentVariables, headers } = config ?? {};
  if (!endpoint) return;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(endpoint)) {
    const message = `the telemetry endpoint ${JSON.stringify(endpoint)} begins with a scheme`;
    throw invalidField('/telemetry_config/endpoint', message, {
      hint: 'write HOST:PORT, and use insecure (--otel-insecure) for plain http',
    });
  }
  const url = URL.parse(`https://${endpoint}`);
  if (url === null || url.hostname === '' || url.href !== `https://${url.host}/` || url.username !== '') {
    const message = `invalid telemetry endpoint ${JSON.stringify(endpoint)}`;
    throw invalidField('/telemetry_config/endpoint', message, { hint: 'write HOST:PORT' });
  }
  const never = neverAllowed(url.hostname);
  if (never !== undefined) {
    throw invalidField('/telemetry_config/endpoint', `the telemetry endpoint ${url.hostname} is ${never}`, {
      hint: 'write the address of your collector',
    });
  }
  if (tracingEnabled === false && metricsEnabled === false) {
    const message = 'telemetry has an endpoint, but traces and metrics are both disabled';
    throw invalidField('/telemetry_config', message, {
      hint: 'enable one of them, or omit the endpoint',
    });
  }
  const secret = environmentVariables?.find(isSecretKey);
  if (secret !== undefined) {
    throw invalidField(
      '/telemetry_config/environmentVariables',
      `the environment variable ${secret} is not sent with traces, because its name looks like the name of a secret`,
      {
        hint: 'remove it from environmentVariables (--otel-env-vars)',
      },
    );
  }
  for (const [name, value] of Object.entries(headers ?? {})) {
    // RFC 9110, section 5
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || /[\0\r\n]/.test(value))
      throw invalidField('/telemetry_config/headers', `invalid telemetry header ${JSON.stringify(name)}`);
  }
}

/** What the proxy of a workload sends, and where to. Undefined without an endpoint. */
export function telemetryOf(
  runConfig: Configured,
  {
    version,
    env,
    onFailure,
  }: { version: string; env: NodeJS.ProcessEnv; onFailure: TelemetryOptions['onFailure'] },
): TelemetryOptions | undefined {
  const { telemetry_config: config } = runConfig;
  if (!config?.endpoint) return undefined;
  checkTelemetry(runConfig);
  const values = (config.environmentVariables ?? []).flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[`environment.${name}`, value]];
  });
  const endpoint = `${config.insecure === true ? 'http' : 'https'}://${config.endpoint}`;
  const proxy = proxyFor(new URL(endpoint), env);
  if (config.insecure !== true) trustSystem();
  return {
    endpoint,
    headers: config.headers ?? {},
    proxy: proxy?.startsWith('http') ? proxy : undefined,
    lookup: guardedLookup({ allowPrivate: true }),
    resource: {
      'host.name': hostname(),
      ...config.customAttributes,
      'service.name': config.serviceName || defaultService,
      'service.version': config.serviceVersion || version,
    },
    attributes: Object.fromEntries(values) as Record<string, string>,
    samplingRate: config.tracingEnabled === false ? undefined : (config.samplingRate ?? defaultRate),
    metrics: config.metricsEnabled !== false,
    onFailure,
  };
}
