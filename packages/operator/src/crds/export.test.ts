import { RunConfig } from '@toolhive/contract/run-config';
import { manifestOf } from '@toolhive/core/manifest';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { mcpServer } from './mcp-server.ts';

const plain = {
  schema_version: 'v0.1.0',
  name: 'weather',
  base_name: 'weather',
  container_name: 'weather',
  image: 'ghcr.io/example/weather-mcp:1.2.0',
  transport: 'stdio',
  proxy_mode: 'streamable-http',
  port: 4000,
  permission_profile: { network: { outbound: { insecure_allow_all: true } } },
  group: 'default',
};

const everything = {
  ...plain,
  transport: 'streamable-http',
  target_port: 8080,
  cmd_args: ['--verbose'],
  env_vars: { UNITS: 'metric' },
  secrets: ['weather key,target=WEATHER_KEY'],
  volumes: ['/srv:/data:ro'],
  permission_profile: { write: ['/var/tmp'] },
  container_labels: { team: 'red' },
  group: 'research',
  tools_filter: ['forecast'],
  trust_proxy_headers: true,
  oidc_config: {
    issuer: 'https://id.example.com',
    audience: 'weather',
    clientID: 'toolhive',
    jwksurl: 'https://id.example.com/keys',
    introspectionURL: 'https://id.example.com/introspect',
    allowPrivateIP: true,
    insecureAllowHTTP: true,
    resourceURL: 'https://weather.example.com',
  },
  authz_config: {
    version: '1',
    type: 'cedarv1',
    cedar: { policies: ['permit(principal, action, resource);'], entities_json: '[]' },
  },
  audit_config: { max_data_size: 1024 },
  telemetry_config: {
    endpoint: 'collector:4318',
    serviceName: 'weather',
    insecure: true,
    samplingRate: 0.5,
    tracingEnabled: true,
    metricsEnabled: false,
    enablePrometheusMetricsPath: true,
  },
};

test.each([
  ['a plain workload', plain],
  ['one with everything', everything],
])('what thv export writes of %s is an MCPServer', (_what, runConfig) => {
  const { manifest } = manifestOf(RunConfig.parse(runConfig));

  const [first] = parseAllDocuments(manifest);
  const { apiVersion, kind, spec } = (first?.toJS() ?? {}) as Record<string, unknown>;

  expect({ apiVersion, kind }).toEqual({ apiVersion: 'toolhive.stacklok.dev/v1alpha1', kind: 'MCPServer' });
  // Nothing gets lost: a field that the kind does not know would be missing.
  expect(mcpServer.spec.parse(spec)).toMatchObject(spec as object);
});
