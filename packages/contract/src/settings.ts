/** The type of a setting value. */
export type SettingKind =
  | 'boolean'
  | 'rate'
  | 'endpoint'
  | 'variables'
  | 'certificate'
  | 'registry'
  | 'sources'
  | 'network'
  | 'hours';

/** A daemon setting. */
export interface SettingDefinition {
  /** The setting name, the same as the name of the `thv run` flag with the same meaning. */
  name: string;
  /** The name for people. */
  title: string;
  kind: SettingKind;
  /** The meaning of the setting, as a noun phrase. */
  summary: string;
  /** The path of keys in `config.yaml`. */
  at: readonly [string, ...string[]];
  /** An example value, as an argument of a command. */
  example: string;
}

/**
 * All settings. The API operations, the commands, and the reference are generated from this table, which uses no library:
 * the CLI reads this table at every start.
 */
export const settings = [
  {
    name: 'ca-cert',
    title: 'Certificate authority',
    kind: 'certificate',
    summary: 'the certificate authority to trust during the installation of packages',
    at: ['ca_certificate_path'],
    example: '/etc/ssl/company.pem',
  },
  {
    name: 'package-sources',
    title: 'Sources of packages',
    kind: 'sources',
    summary: 'the allowed sources of package dependencies, besides package registries',
    at: ['package_sources'],
    example: 'github.com/example/library',
  },
  {
    name: 'default-network',
    title: 'Default network',
    kind: 'network',
    summary: 'the network of servers without a registry entry and without a profile: public, none, or ask',
    at: ['default_network'],
    example: 'ask',
  },
  {
    name: 'minimum-package-age',
    title: 'Minimum age of packages',
    kind: 'hours',
    summary:
      'the minimum age of a package version in hours, below which ToolHive warns before a run or an upgrade (24 by default)',
    at: ['minimum_package_age'],
    example: '72',
  },
  {
    name: 'registry',
    title: 'Registry',
    kind: 'registry',
    summary: 'the URL or the path of the registry, instead of the built-in registry',
    at: ['registry_url'],
    example: 'https://registry.example.com/registry.json',
  },
  {
    name: 'otel-endpoint',
    title: 'OpenTelemetry collector',
    kind: 'endpoint',
    summary: 'the OpenTelemetry collector for traces and metrics (OTLP over HTTP)',
    at: ['otel', 'endpoint'],
    example: 'collector.example.com:4318',
  },
  {
    name: 'otel-metrics-enabled',
    title: 'Metrics',
    kind: 'boolean',
    summary: 'whether metrics are sent',
    at: ['otel', 'metrics-enabled'],
    example: 'true',
  },
  {
    name: 'otel-tracing-enabled',
    title: 'Traces',
    kind: 'boolean',
    summary: 'whether traces are sent',
    at: ['otel', 'tracing-enabled'],
    example: 'true',
  },
  {
    name: 'otel-sampling-rate',
    title: 'Sampling rate of traces',
    kind: 'rate',
    summary: 'the trace sampling rate, from 0.0 to 1.0',
    at: ['otel', 'sampling-rate'],
    example: '0.1',
  },
  {
    name: 'otel-env-vars',
    title: 'Variables in traces',
    kind: 'variables',
    summary: 'the environment variables to include in traces',
    at: ['otel', 'env-vars'],
    example: 'NODE_ENV,REGION',
  },
  {
    name: 'otel-insecure',
    title: 'Unencrypted telemetry',
    kind: 'boolean',
    summary: 'whether traces and metrics are sent over plain http',
    at: ['otel', 'insecure'],
    example: 'false',
  },
  {
    name: 'otel-enable-prometheus-metrics-path',
    title: 'Prometheus metrics',
    kind: 'boolean',
    summary: 'whether Prometheus can fetch metrics from /metrics of every proxy',
    at: ['otel', 'enable-prometheus-metrics-path'],
    example: 'true',
  },
] as const satisfies readonly SettingDefinition[];

/** The values of settings that have only a few. */
export const settingChoices: Partial<Record<SettingKind, readonly string[]>> = {
  boolean: ['true', 'false'],
  network: ['public', 'none', 'ask'],
};

/** The command for a setting. Telemetry settings have their own subcommand. */
export function settingCommand(verb: 'get' | 'set' | 'unset', name: string): string {
  const [, own] = /^otel-(.+)$/.exec(name) ?? [];
  return own === undefined ? `config ${verb}-${name}` : `config otel ${verb}-${own}`;
}
