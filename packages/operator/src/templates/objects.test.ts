import type { PermissionProfile } from '@toolhive/contract/permission-profile';
import { networkOf } from '@toolhive/core/network-grant';
import { checkSingleWorkload } from '@toolhive/core/check-single-workload';
import { describe, expect, test } from 'vitest';
import { mcpServer } from '../crds/mcp-server.ts';
import { checkRunConfig } from './check.ts';
import { authorizationFile, childrenOf, egressService } from './objects.ts';
import type { Plan } from './objects.ts';
import { egressRules, enforcementOf } from './permissions.ts';
import { registryChildren } from './registry.ts';
import { runConfigOf } from './run-config.ts';
import type { Proxied } from './run-config.ts';

const hosts: PermissionProfile = { network: { outbound: { allow_host: ['api.example.com'] } } };

function planOf(
  spec: object,
  {
    profile = {},
    hasVault = false,
    authorization,
  }: { profile?: PermissionProfile; hasVault?: boolean; authorization?: string } = {},
): Plan {
  const proxied: Proxied = {
    kind: 'MCPServer',
    name: 'echo',
    namespace: 'tools',
    proxyHost: '0.0.0.0',
    hasVault,
    profile,
    spec: mcpServer.spec.parse({
      image: 'example/echo:1',
      transport: 'streamable-http',
      port: 8080,
      targetPort: 9000,
      ...spec,
    }),
  };
  return {
    proxied,
    owner: { apiVersion: mcpServer.kind, kind: 'MCPServer', name: 'echo', uid: '1' },
    runConfig: runConfigOf(proxied),
    runnerImage: 'toolhive-proxyrunner:dev',
    secretVersions: '',
    enforcement: enforcementOf(profile),
    egressAddress: '10.0.0.7',
    ...(authorization === undefined ? {} : { authorization }),
  };
}

interface Probe {
  httpGet: { path: string; port: string; httpHeaders: { name: string; value: string }[] };
}

interface Container {
  name: string;
  args?: string[];
  env: { name: string; value?: string; valueFrom?: object }[];
  ports?: { name: string; containerPort: number }[];
  volumeMounts: { name: string; mountPath: string }[];
  stdin?: boolean;
  stdinOnce?: boolean;
  livenessProbe: Probe;
  readinessProbe: Probe;
  startupProbe: Probe;
}

function containerOf(plan: Plan, kind: 'Deployment' | 'StatefulSet'): Container {
  const found = childrenOf(plan).find(({ object }) => object.kind === kind);
  const spec = found?.object['spec'] as { template: { spec: { containers: Container[] } } } | undefined;
  const [container] = spec?.template.spec.containers ?? [];
  if (container === undefined) throw new Error(`no container in the ${kind}`);
  return container;
}

const variablesOf = ({ env }: Container) =>
  Object.fromEntries(env.map(({ name, value, valueFrom }) => [name, value ?? valueFrom]));

describe('the proxy pod', () => {
  test('mounts the run config and the policies where the proxy runner reads them', () => {
    const policies = authorizationFile(['permit(principal, action, resource);'], '[]');
    const plan = planOf(
      { authzConfig: { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } } },
      { authorization: policies },
    );
    const proxy = containerOf(plan, 'Deployment');

    expect(proxy.args?.[0]).toBe('run');
    expect(proxy.volumeMounts).toContainEqual({
      name: 'runconfig',
      mountPath: '/etc/runconfig',
      readOnly: true,
    });
    expect(proxy.volumeMounts).toContainEqual({
      name: 'authz',
      mountPath: '/etc/toolhive/authz',
      readOnly: true,
    });
    const data = childrenOf(plan)
      .filter(({ object }) => object.kind === 'ConfigMap')
      .map(({ object }) => Object.keys(object['data'] as object));
    expect(data).toEqual([['runconfig.json'], ['authz.json']]);
    expect(plan.runConfig.authz_config_path).toBe('/etc/toolhive/authz/authz.json');
  });

  test('is restarted only if the proxy does not answer, not while its server starts', () => {
    const { livenessProbe, readinessProbe, startupProbe } = containerOf(planOf({}), 'Deployment');

    expect([livenessProbe, readinessProbe, startupProbe].map(({ httpGet }) => httpGet.path)).toEqual([
      '/livez',
      '/health',
      '/livez',
    ]);
    for (const { httpGet } of [livenessProbe, readinessProbe, startupProbe])
      expect(httpGet).toMatchObject({ port: 'http', httpHeaders: [{ name: 'Host', value: 'localhost' }] });
  });

  test('has the variables that the proxy runner reads, which overrides cannot change', () => {
    const env = [
      { name: 'TOOLHIVE_PUBLIC_HOSTS', value: 'mcp.example.com' },
      { name: 'POD_NAMESPACE', value: 'other' },
    ];
    const variables = variablesOf(
      containerOf(planOf({ resourceOverrides: { proxyDeployment: { env } } }), 'Deployment'),
    );

    expect(variables).toMatchObject({
      TOOLHIVE_PUBLIC_HOSTS: 'mcp.example.com',
      POD_NAMESPACE: { fieldRef: { fieldPath: 'metadata.namespace' } },
      TOOLHIVE_RUNTIME: 'kubernetes',
      HOME: '/tmp',
    });
  });

  test('reads client secrets by reference', () => {
    const plan = planOf({ oidcConfig: { type: 'configMap', configMap: { name: 'login' } } });
    const { proxied } = plan;
    const proxy = containerOf(
      {
        ...plan,
        proxied: { ...proxied, oidcData: { issuer: 'https://login.example', clientSecret: 'hidden' } },
      },
      'Deployment',
    );

    expect(variablesOf(proxy)['TOOLHIVE_OIDC_CLIENT_SECRET']).toEqual({
      configMapKeyRef: { name: 'login', key: 'clientSecret' },
    });
    expect(JSON.stringify(proxy)).not.toContain('hidden');
  });
});

describe('the server pod', () => {
  test('reaches its hosts only through the gateway in the proxy pod, also before the proxy is ready', () => {
    const plan = planOf({}, { profile: hosts });
    const variables = variablesOf(containerOf(plan, 'StatefulSet'));

    const gateway = 'http://10.0.0.7:3128';
    expect(variables).toMatchObject({
      HTTP_PROXY: gateway,
      https_proxy: gateway,
      ALL_PROXY: gateway,
      NO_PROXY: '',
    });
    expect(containerOf(plan, 'Deployment').ports).toContainEqual({
      name: 'egress',
      containerPort: 3128,
      protocol: 'TCP',
    });
    expect(egressService(plan)?.object['spec']).toMatchObject({
      publishNotReadyAddresses: true,
      ports: [{ port: 3128 }],
    });
  });

  test('gets a new process with each attach to standard streams', () => {
    expect(containerOf(planOf({ transport: 'stdio' }), 'StatefulSet')).toMatchObject({
      stdin: true,
      stdinOnce: true,
    });
  });
});

const profiles: [string, PermissionProfile, 'none' | 'policy' | 'gateway'][] = [
  ['nothing', {}, 'none'],
  ['no network', { network: { mode: 'none', outbound: { insecure_allow_all: true } } }, 'none'],
  ['hosts', hosts, 'gateway'],
  ['an empty mode', { network: { mode: '', outbound: { allow_host: ['api.example.com'] } } }, 'gateway'],
  ['everything', { network: { outbound: { insecure_allow_all: true } } }, 'policy'],
  [
    'everything, with a name',
    { network: { outbound: { insecure_allow_all: true, allow_host: ['db.local', '10.1.2.3'] } } },
    'policy',
  ],
];

test.each(profiles)(
  'the operator and the proxy runner agree on the gateway of a profile with %s',
  async (_case, profile, kind) => {
    const { runConfig, enforcement } = planOf({}, { profile });

    expect(enforcement?.egress.kind).toBe(kind);
    expect(networkOf(runConfig).kind === 'rules').toBe(kind === 'gateway');
    await expect(
      checkSingleWorkload(runConfig, { readSecret: () => Promise.reject(new Error('no secrets')) }),
    ).resolves.toBeUndefined();
  },
);

test('an open profile allows the listed addresses, and no names', () => {
  const { enforcement } = planOf(
    {},
    {
      profile: { network: { outbound: { insecure_allow_all: true, allow_host: ['db.local', '10.1.2.3'] } } },
    },
  );

  expect(enforcement?.egress).toMatchObject({ blocks: [{ cidr: '10.1.2.3/32' }] });
});

test('an open profile does not allow the metadata services of clouds, which have public addresses, too', () => {
  const [{ to: blocks }] = egressRules({ kind: 'policy', ports: undefined, blocks: [] }, {}, 3128) as [
    { to: { ipBlock: { cidr: string; except: string[] } }[] },
  ];

  expect(blocks.map(({ ipBlock }) => ipBlock.cidr)).toEqual(['0.0.0.0/0', '2000::/3']);
  expect(blocks.flatMap(({ ipBlock }) => ipBlock.except)).toEqual(
    expect.arrayContaining(['168.63.129.16/32', '169.254.0.0/16', '192.0.0.0/24', '2002::/16', '10.0.0.0/8']),
  );
});

const openTo = (host: string): PermissionProfile => ({
  network: { outbound: { insecure_allow_all: true, allow_host: [host] } },
});

test.each([
  ['169.254.169.254', '169.254.0.0/16'],
  ['169.254.0.0/17', '169.254.0.0/16'],
  ['168.63.129.16', '168.63.129.16/32'],
  ['fd00:ec2::254', 'fd00:ec2::/32'],
  ['64:ff9b::a9fe:a9fe', '64:ff9b::a9fe:0/112'],
])('a profile that lists the metadata address %s is refused', (host, block) => {
  expect(() => planOf({}, { profile: openTo(host) })).toThrow(
    `the profile allows ${host}, but servers never reach the link-local and metadata addresses ${block}`,
  );
});

test.each([
  ['0.0.0.0/0', ['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32', '169.254.0.0/16']],
  ['100.64.0.0/10', ['100.100.100.200/32']],
  ['64:ff9b::/96', expect.arrayContaining(['64:ff9b::a9fe:0/112'])],
])('a profile that lists the range %s does not allow the metadata addresses in the range', (host, except) => {
  const { enforcement } = planOf({}, { profile: openTo(host) });

  expect(enforcement?.egress).toMatchObject({ blocks: [{ cidr: host, except }] });
});

test('a server with outbound access resolves names through the DNS of every distribution', () => {
  const rules = egressRules({ kind: 'policy', ports: undefined, blocks: [] }, {}, 3128) as {
    to: { namespaceSelector?: { matchLabels: Record<string, string> } }[];
    ports?: { protocol: string; port: number }[];
  }[];
  const portsFor = (namespace: string): unknown =>
    rules
      .filter(({ to }) =>
        to.some(
          ({ namespaceSelector }) =>
            namespaceSelector?.matchLabels['kubernetes.io/metadata.name'] === namespace,
        ),
      )
      .flatMap(({ ports = [] }) => ports.map(({ protocol, port }) => `${protocol} ${port}`));

  // A NetworkPolicy sees the port of the pods, which is 5353 in OpenShift.
  expect(portsFor('kube-system')).toEqual(['UDP 53', 'TCP 53']);
  expect(portsFor('openshift-dns')).toEqual(['UDP 5353', 'TCP 5353']);
});

test('the registry API has the pull secrets of the installation', () => {
  const owner = { apiVersion: 'toolhive.stacklok.dev/v1alpha1', kind: 'MCPRegistry', name: 'team', uid: '1' };
  const secretsFor = (imagePullSecrets: string[]): unknown => {
    const children = registryChildren(
      owner,
      { name: 'team', namespace: 'tools' },
      { registryImage: 'example/registry:1', imagePullSecrets },
      false,
    );
    const deployment = children.find(({ type }) => type.kind === 'Deployment')?.object;
    return (deployment as { spec?: { template?: { spec?: { imagePullSecrets?: unknown } } } }).spec?.template
      ?.spec?.imagePullSecrets;
  };

  expect([secretsFor([]), secretsFor(['mirror', 'other'])]).toEqual([
    undefined,
    [{ name: 'mirror' }, { name: 'other' }],
  ]);
});

test('files of the Vault agent in the proxy pod are refused, because servers cannot read them', () => {
  expect(() => planOf({}, { hasVault: true })).toThrow('spec.podTemplateSpec.metadata.annotations');
});

const exchange = {
  tokenUrl: 'https://id.example.com/token',
  clientId: 'proxy',
  audience: 'backend',
  clientSecretRef: { name: 'exchange', key: 'secret' },
};
const inline = { issuer: 'https://id.example.com', audience: 'tools' };
const oidcConfig = { type: 'inline', inline };
const telemetryTo = (endpoint: string, more: object = { tracing: { enabled: true } }): object => ({
  telemetry: { openTelemetry: { enabled: true, endpoint, ...more } },
});

describe('a spec with which the proxy could not start is refused:', () => {
  test.each([
    [
      'an issuer without https',
      { oidcConfig: { type: 'inline', inline: { issuer: 'http://id.example.com' } } },
      'is not https',
    ],
    [
      'a resource that is not a URL',
      { oidcConfig: { ...oidcConfig, resourceUrl: 'nonsense' } },
      'resource_url is not',
    ],
    [
      'keys at something other than a URL',
      { oidcConfig: { type: 'inline', inline: { ...inline, jwksUrl: 'nonsense' } } },
      'is not a URL',
    ],
    ['a collector with a path', telemetryTo('http://collector:4318/v1/traces'), 'invalid telemetry endpoint'],
    [
      'a collector that receives nothing',
      telemetryTo('collector:4318', {}),
      'traces and metrics are both disabled',
    ],
    [
      'a header with a space',
      telemetryTo('collector:4318', { metrics: { enabled: true }, headers: ['a b=c'] }),
      'invalid telemetry header',
    ],
  ])('%s', async (_case, spec, message) => {
    const check = checkRunConfig(planOf(spec).runConfig, undefined);

    await expect(check).rejects.toThrow(`the proxy cannot start with this spec: `);
    await expect(check).rejects.toThrow(message);
  });

  test.each([
    ['that callers send no tokens for', {}, 'callers do not send any'],
    ['of a stdio server', { transport: 'stdio', oidcConfig }, 'a stdio server cannot receive tokens'],
  ])('a token exchange %s', async (_case, spec, message) => {
    const runConfig = runConfigOf({ ...planOf(spec).proxied, exchange });

    await expect(checkRunConfig(runConfig, undefined)).rejects.toThrow(message);
  });

  test('no token exchange of a server that speaks HTTP', async () => {
    for (const transport of ['sse', 'streamable-http']) {
      const runConfig = runConfigOf({ ...planOf({ transport, oidcConfig }).proxied, exchange });

      await expect(checkRunConfig(runConfig, undefined)).resolves.toBeUndefined();
    }
  });

  test('policies that are not Cedar', async () => {
    const { runConfig } = planOf({ oidcConfig });

    await expect(checkRunConfig(runConfig, authorizationFile(['permit everything'], '[]'))).rejects.toThrow(
      'the proxy cannot start with this spec: ',
    );
  });
});

test('files in the proxy pod are not needed to check a spec', async () => {
  const policies = authorizationFile(['permit(principal, action, resource);'], '[]');
  const authzConfig = { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } };
  const bundle = { type: 'inline', inline: { ...inline, thvCABundlePath: '/etc/ca.crt' } };

  for (const login of [{ type: 'kubernetes' }, bundle])
    await expect(
      checkRunConfig(planOf({ oidcConfig: login, authzConfig }).runConfig, policies),
    ).resolves.toBeUndefined();
});

test('telemetry sends only the signals that are enabled', () => {
  const { runConfig } = planOf(telemetryTo('collector:4318', { metrics: { enabled: true } }));

  expect(runConfig.telemetry_config).toMatchObject({ tracingEnabled: false, metricsEnabled: true });
});
