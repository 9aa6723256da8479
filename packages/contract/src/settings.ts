/** How the value of a setting is read, and what it may be. */
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

/** Something that a person can set for the whole daemon. */
export interface SettingDefinition {
  /** What it is called; where a flag of `thv run` says the same for one workload, it has that name, too. */
  name: string;
  kind: SettingKind;
  /** What it says, without a verb. */
  summary: string;
  /** The keys in `config.yaml` that lead to it. */
  at: readonly [string, ...string[]];
  /** A value that it may have, as a person types it. */
  example: string;
}

/**
 * Every setting. The operations of the API, the commands, and the reference come from here, without a library: the
 * command line has to know it before it knows what it is to do.
 */
export const settings = [
  {
    name: 'ca-cert',
    kind: 'certificate',
    summary: 'the certificate authority that is trusted while packages are made ready',
    at: ['ca_certificate_path'],
    example: '/etc/ssl/company.pem',
  },
  {
    name: 'package-sources',
    kind: 'sources',
    summary: 'the sources besides package registries that dependencies of packages may come from',
    at: ['package_sources'],
    example: 'github.com/example/library',
  },
  {
    name: 'default-network',
    kind: 'network',
    summary: 'the network of servers without a registry entry and without a profile: public, none, or ask',
    at: ['default_network'],
    example: 'ask',
  },
  {
    name: 'minimum-package-age',
    kind: 'hours',
    summary:
      'how many hours old a version should be; a younger one is run or upgraded to with a warning; 24 if not set',
    at: ['minimum_package_age'],
    example: '72',
  },
  {
    name: 'registry',
    kind: 'registry',
    summary: 'where the registry comes from, if not from the product itself',
    at: ['registry_url'],
    example: 'https://registry.example.com/registry.json',
  },
  {
    name: 'otel-endpoint',
    kind: 'endpoint',
    summary: 'who collects traces and metrics (OTLP over HTTP)',
    at: ['otel', 'endpoint'],
    example: 'collector.example.com:4318',
  },
  {
    name: 'otel-metrics-enabled',
    kind: 'boolean',
    summary: 'whether metrics are sent',
    at: ['otel', 'metrics-enabled'],
    example: 'true',
  },
  {
    name: 'otel-tracing-enabled',
    kind: 'boolean',
    summary: 'whether traces are sent',
    at: ['otel', 'tracing-enabled'],
    example: 'true',
  },
  {
    name: 'otel-sampling-rate',
    kind: 'rate',
    summary: 'which part of all traces is kept, from 0.0 to 1.0',
    at: ['otel', 'sampling-rate'],
    example: '0.1',
  },
  {
    name: 'otel-env-vars',
    kind: 'variables',
    summary: 'the environment variables whose values stand in traces',
    at: ['otel', 'env-vars'],
    example: 'NODE_ENV,REGION',
  },
  {
    name: 'otel-insecure',
    kind: 'boolean',
    summary: 'whether traces and metrics are sent over plain http',
    at: ['otel', 'insecure'],
    example: 'false',
  },
  {
    name: 'otel-enable-prometheus-metrics-path',
    kind: 'boolean',
    summary: 'whether Prometheus can fetch metrics from /metrics of every proxy',
    at: ['otel', 'enable-prometheus-metrics-path'],
    example: 'true',
  },
] as const satisfies readonly SettingDefinition[];

/** The command that does something with a setting. Those of telemetry stand below a word of their own. */
export function settingCommand(verb: 'get' | 'set' | 'unset', name: string): string {
  const [, own] = /^otel-(.+)$/.exec(name) ?? [];
  return own === undefined ? `config ${verb}-${name}` : `config otel ${verb}-${own}`;
}
