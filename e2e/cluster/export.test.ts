import { RunConfig } from '@toolhive/contract/run-config';
import { manifestOf } from '@toolhive/core/manifest';
import { expect, test } from 'vitest';
import { describeOperator } from './operator-tests.ts';

const plain = {
  schema_version: 'v0.1.0',
  name: 'My_Weather',
  base_name: 'My_Weather',
  container_name: 'My_Weather',
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
  cmd_args: ['--verbose', 'no: yaml', ''],
  env_vars: { UNITS: 'metric', EMPTY: '', LINES: 'a\nb' },
  secrets: ['weather key,target=WEATHER_KEY'],
  volumes: ['/srv:/data:ro'],
  permission_profile: {
    write: ['/var/tmp'],
    network: {
      outbound: { allow_host: ['.example.com'], allow_port: [443] },
      inbound: { allow_host: ['a.example'] },
    },
  },
  container_labels: { team: 'red', 'not a label': 'x' },
  group: 'research_team',
  tools_filter: ['forecast'],
  tools_override: { get_forecast_v2: { name: 'forecast', description: 'Tells the weather.' } },
  trust_proxy_headers: true,
  oidc_config: {
    issuer: 'https://id.example.com',
    audience: 'weather',
    clientID: 'toolhive',
    allowPrivateIP: true,
  },
  authz_config: {
    version: '1',
    type: 'cedarv1',
    cedar: { policies: ['permit(principal, action, resource);'], entities_json: '[]' },
  },
  audit_config: { max_data_size: 1024 },
  telemetry_config: { endpoint: 'collector:4318', samplingRate: 0.5, enablePrometheusMetricsPath: true },
};

const remote = {
  ...plain,
  image: undefined,
  transport: 'streamable-http',
  remote_url: 'https://mcp.example.com/mcp',
  oidc_config: { issuer: 'https://id.example.com', audience: 'weather' },
  tools_filter: ['forecast'],
};

describeOperator('an exported workload', (world) => {
  test.each([
    ['a plain server', plain, ['mcpserver.toolhive.stacklok.dev/my-weather']],
    [
      'a server with every setting',
      everything,
      [
        'mcpserver.toolhive.stacklok.dev/my-weather',
        'mcpgroup.toolhive.stacklok.dev/research-team',
        'configmap/my-weather-permissions',
        'mcptoolconfig.toolhive.stacklok.dev/my-weather-tools',
      ],
    ],
    [
      'a remote server',
      remote,
      [
        'mcpremoteproxy.toolhive.stacklok.dev/my-weather',
        'mcptoolconfig.toolhive.stacklok.dev/my-weather-tools',
      ],
    ],
  ])(
    'is accepted unchanged and changes nothing when applied again: %s',
    async (_what, runConfig, objects) => {
      const namespace = await world.cluster.namespace();
      const { manifest } = manifestOf(RunConfig.parse(runConfig));
      const apply = async (): Promise<string[]> =>
        (
          await world.cluster.kubectl(
            ['apply', '--validate=strict', '--namespace', namespace, '-f', '-'],
            manifest,
          )
        )
          .split('\n')
          .filter((line) => !line.startsWith('Warning'));

      expect(await apply()).toEqual(objects.map((object) => `${object} created`));
      expect(await apply()).toEqual(objects.map((object) => `${object} unchanged`));
    },
  );

  // Without secrets and host paths, which the namespace lacks and refuses.
  test.each([
    ['a plain server', plain],
    [
      'a server with network rules, a group, and tools',
      {
        ...everything,
        secrets: [],
        volumes: [],
        permission_profile: { network: everything.permission_profile.network },
      },
    ],
  ])('becomes ready: %s', async (_what, runConfig) => {
    const namespace = await world.cluster.namespace();
    const { manifest } = manifestOf(RunConfig.parse(runConfig));

    await world.cluster.kubectl(
      ['apply', '--validate=strict', '--namespace', namespace, '-f', '-'],
      manifest,
    );

    await world.waitFor(namespace, 'mcpserver/my-weather');
    expect(await world.condition(namespace, 'mcpserver/my-weather', 'Ready')).toBe('DeploymentReady');
  });
});
