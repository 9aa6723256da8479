import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, OwnerReference, ResourceType } from '@toolhive/kubernetes/object';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { ApprovedItem } from '@toolhive/contract/tool-pins';
import { canonicalJson, hashOf } from '../runtime/canonical.ts';
import { mergeTemplate, repeatedItems } from './merge.ts';
import { EGRESS_PORT, managed, namesOf, peerPortOf, proxyLabels, serverLabels } from './names.ts';
import { egressRules } from './permissions.ts';
import type { Enforcement } from './permissions.ts';
import { rateLimitArgs } from './rate-limits.ts';
import { InvalidSpec } from './run-config.ts';
import type { Proxied } from './run-config.ts';
import { storageParts } from './session-storage.ts';

/** An object that the operator applies. */
export interface Child {
  type: ResourceType;
  object: KubernetesObject & Record<string, unknown>;
}

/** Everything that decides the objects of one custom resource. */
export interface Plan {
  proxied: Proxied;
  owner: OwnerReference;
  runConfig: RunConfig;
  runnerImage: string;
  /** OpenShift assigns the users of pods itself, and refuses others. */
  isOpenShift?: boolean;
  /** The policies of `authzConfig`, from the spec or from a ConfigMap, as JSON. */
  authorization?: string;
  /** The pins of the server's tools, if they are compared. */
  toolPins?: readonly ApprovedItem[];
  /** Changes whenever a referenced Secret changes. */
  secretVersions: string;
  /** Changes whenever the client secret for token introspection changes. */
  oidcSecretVersion?: string;
  /** Changes whenever the credentials for the session storage change. */
  storageVersions?: string;
  /** The Secrets with credentials for image registries, besides those in the spec. */
  imagePullSecrets?: readonly string[];
  /** The value of the restart annotation. */
  restartedAt?: string | undefined;
  enforcement?: Enforcement;
  /** The address of the egress Service, once it is known. */
  egressAddress?: string | undefined;
}

/** The security context of all pods, which meets the restricted Pod Security Standard. */
export function podSecurity(isOpenShift: boolean): object {
  return {
    runAsNonRoot: true,
    ...(isOpenShift ? {} : { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 }),
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

/** The security context of all containers. */
export const containerSecurity = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  capabilities: { drop: ['ALL'] },
};

function child(type: ResourceType, plan: Plan, name: string, labels: object, content: object): Child {
  const { namespace } = plan.proxied;
  return {
    type,
    object: {
      apiVersion: type.apiVersion,
      kind: type.kind,
      metadata: {
        name,
        namespace,
        labels: { ...labels, ...managed },
        ownerReferences: [plan.owner],
      },
      ...content,
    },
  };
}

const namesFor = ({ proxied: { kind, name } }: Plan) => namesOf(kind, name);
const proxyLabelsFor = ({ proxied: { kind, name } }: Plan) => proxyLabels(kind, name);

/** The Service of the egress gateway, whose address the server pods need. */
export function egressService(plan: Plan): Child | undefined {
  if (plan.enforcement?.egress.kind !== 'gateway') return undefined;
  return child(types.service, plan, namesFor(plan).egressService, proxyLabelsFor(plan), {
    spec: {
      selector: proxyLabelsFor(plan),
      // A proxy is ready after its server has answered, and a server may need its hosts before the first answer.
      publishNotReadyAddresses: true,
      ports: [{ name: 'egress', protocol: 'TCP', port: EGRESS_PORT, targetPort: EGRESS_PORT }],
    },
  });
}

/** All other objects, in the order of creation. Throws `InvalidSpec`. */
export function childrenOf(plan: Plan): Child[] {
  const server = plan.proxied.kind === 'MCPServer' ? [statefulSet(plan)] : [];
  const proxy = deployment(plan);
  checkItems('server', [server.map(({ object }) => object), podTemplateOf(plan)]);
  checkItems('proxy', [proxy.object]);
  return [
    ...accounts(plan),
    ...configMaps(plan),
    ...networkPolicies(plan),
    ...services(plan),
    ...server,
    proxy,
  ];
}

/** The API server refuses lists in which two items have one key, and a merge would lose one of them. */
function checkItems(what: string, templates: unknown[]): void {
  const [repeated] = templates.flatMap((template) => repeatedItems(template));
  if (repeated === undefined) return;
  throw new InvalidSpec(`the ${what} pod has two ${repeated}: remove or rename one of them`);
}

function podTemplateOf({ proxied }: Plan): Partial<PodTemplate> | undefined {
  return proxied.kind === 'MCPServer' ? proxied.spec.podTemplateSpec : undefined;
}

/** The names of objects that a resource can have, and that have to go when they are not among its children. */
export function optionalChildren(
  plan: Plan,
  children: readonly Child[],
): { type: ResourceType; name: string }[] {
  const names = namesFor(plan);
  const wanted = new Set(children.map(({ type, object }) => `${type.kind}/${object.metadata.name}`));
  return [
    { type: types.configMap, name: names.authorization },
    { type: types.configMap, name: names.toolPins },
    { type: types.role, name: names.proxyAccount },
    { type: types.roleBinding, name: names.proxyAccount },
    { type: types.serviceAccount, name: names.serverAccount },
    { type: types.service, name: names.headlessService },
    { type: types.service, name: names.egressService },
    { type: types.networkPolicy, name: names.formerServerPolicy },
  ].filter(({ type, name }) => !wanted.has(`${type.kind}/${name}`));
}

/** The Secret with the session keys, for a server that several proxies can serve. A stdio server has one proxy. */
export function sessionKeysOf(plan: Plan): string | undefined {
  return isAttached(plan) ? undefined : namesFor(plan).sessionKeys;
}

function isAttached({ proxied }: Plan): boolean {
  return proxied.kind === 'MCPServer' && proxied.spec.transport === 'stdio';
}

/** Whether the proxy sends the token of its service account to the API server, for keys, an attach, or listed tools. */
function needsToken(plan: Plan): boolean {
  const { oidcConfig: oidc } = plan.proxied.spec;
  const usesCluster = oidc?.type === 'kubernetes' && (oidc.kubernetes?.useClusterAuth ?? true);
  return isAttached(plan) || usesCluster || plan.toolPins !== undefined;
}

function accounts(plan: Plan): Child[] {
  const { proxied } = plan;
  const { proxyAccount, serverAccount, workload, listedTools } = namesFor(plan);
  const labels = proxyLabelsFor(plan);
  const account = child(types.serviceAccount, plan, proxyAccount, labels, {
    automountServiceAccountToken: false,
  });
  const server =
    proxied.kind === 'MCPServer' && proxied.spec.serviceAccount === undefined
      ? [child(types.serviceAccount, plan, serverAccount, labels, { automountServiceAccountToken: false })]
      : [];
  const rules = [
    ...(isAttached(plan) ? attachRules(`${workload}-0`) : []),
    ...(plan.toolPins === undefined ? [] : listedToolsRules(listedTools)),
  ];
  if (rules.length === 0) return [account, ...server];
  return [
    account,
    ...server,
    child(types.role, plan, proxyAccount, labels, { rules }),
    child(types.roleBinding, plan, proxyAccount, labels, {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: proxyAccount },
      subjects: [{ kind: 'ServiceAccount', name: proxyAccount, namespace: proxied.namespace }],
    }),
  ];
}

function attachRules(pod: string): object[] {
  return [
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'], resourceNames: [pod] },
    { apiGroups: [''], resources: ['pods/attach'], verbs: ['create', 'get'], resourceNames: [pod] },
  ];
}

/** The pins themselves are not in this ConfigMap, so no proxy decides them. */
function listedToolsRules(configMap: string): object[] {
  return [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'patch'], resourceNames: [configMap] },
  ];
}

function configMaps(plan: Plan): Child[] {
  const { proxied, runConfig, authorization, toolPins } = plan;
  const { name } = proxied;
  const labels = {
    'toolhive.stacklok.io/component': 'run-config',
    'toolhive.stacklok.io/mcp-server': name,
    'toolhive.stacklok.io/managed-by': 'toolhive-operator',
  };
  const config = child(types.configMap, plan, namesFor(plan).runConfig, labels, {
    data: { 'runconfig.json': `${JSON.stringify(runConfig, null, 2)}\n` },
  });
  config.object.metadata.annotations = { 'toolhive.stacklok.dev/content-checksum': hashOf(runConfig) };
  const more: Child[] = [];
  if (authorization !== undefined)
    more.push(
      child(
        types.configMap,
        plan,
        namesFor(plan).authorization,
        { ...labels, 'toolhive.stacklok.io/component': 'authz', 'toolhive.stacklok.io/authz': 'inline' },
        { data: { 'authz.json': authorization } },
      ),
    );
  if (toolPins !== undefined)
    more.push(
      child(
        types.configMap,
        plan,
        namesFor(plan).toolPins,
        { ...labels, 'toolhive.stacklok.io/component': 'tool-pins' },
        { data: { [PINS_FILE]: canonicalJson(toolPins) } },
      ),
    );
  return [config, ...more];
}

function networkPolicies(plan: Plan): Child[] {
  const { proxied, enforcement } = plan;
  const { serverPolicy, proxyPolicy } = namesFor(plan);
  const labels = proxyLabelsFor(plan);
  const port = { protocol: 'TCP', port: proxied.spec.port };
  const peers = isAttached(plan)
    ? []
    : [
        {
          from: [{ podSelector: { matchLabels: labels } }],
          ports: [{ protocol: 'TCP', port: peerPortOf(proxied.spec) }],
        },
      ];
  if (proxied.kind === 'MCPRemoteProxy') {
    return [
      child(types.networkPolicy, plan, proxyPolicy, labels, {
        spec: {
          podSelector: { matchLabels: labels },
          policyTypes: ['Ingress'],
          ingress: [{ ports: [port] }, ...peers],
        },
      }),
    ];
  }
  const server = serverLabels(proxied.name);
  const usesGateway = enforcement?.egress.kind === 'gateway';
  return [
    child(types.networkPolicy, plan, serverPolicy, labels, {
      spec: {
        podSelector: { matchLabels: server },
        policyTypes: ['Ingress', 'Egress'],
        ingress:
          proxied.spec.transport === 'stdio'
            ? []
            : [
                {
                  from: [{ podSelector: { matchLabels: labels } }],
                  ports: [{ protocol: 'TCP', port: proxied.spec.targetPort }],
                },
              ],
        egress: enforcement === undefined ? [] : egressRules(enforcement.egress, labels, EGRESS_PORT),
      },
    }),
    child(types.networkPolicy, plan, proxyPolicy, labels, {
      spec: {
        podSelector: { matchLabels: labels },
        policyTypes: ['Ingress'],
        ingress: [
          { ports: [port] },
          ...peers,
          ...(usesGateway
            ? [
                {
                  from: [{ podSelector: { matchLabels: server } }],
                  ports: [{ protocol: 'TCP', port: EGRESS_PORT }],
                },
              ]
            : []),
        ],
      },
    }),
  ];
}

function services(plan: Plan): Child[] {
  const { proxied } = plan;
  const { proxyService, headlessService } = namesFor(plan);
  const { resourceOverrides: overrides, port } = proxied.spec;
  const labels = proxyLabelsFor(plan);
  const front = child(
    types.service,
    plan,
    proxyService,
    { ...overrides?.proxyService?.labels, ...labels },
    {
      spec: { selector: labels, ports: [{ name: 'http', protocol: 'TCP', port, targetPort: port }] },
    },
  );
  const { annotations } = overrides?.proxyService ?? {};
  if (annotations !== undefined) front.object.metadata.annotations = annotations;
  if (proxied.kind === 'MCPRemoteProxy' || proxied.spec.transport === 'stdio') return [front];
  const { targetPort } = proxied.spec;
  return [
    front,
    child(types.service, plan, headlessService, serverLabels(proxied.name), {
      spec: {
        clusterIP: 'None',
        selector: serverLabels(proxied.name),
        ports: [{ name: 'http', protocol: 'TCP', port: targetPort, targetPort }],
      },
    }),
  ];
}

type Entry = Record<string, unknown> & { name: string };

function statefulSet(plan: Plan): Child {
  const { proxied, enforcement, secretVersions, restartedAt } = plan;
  if (proxied.kind !== 'MCPServer') throw new Error('a remote proxy has no server');
  const { spec, name } = proxied;
  const labels = serverLabels(name);
  const mounts = [
    ...(spec.volumes ?? []).map((volume) => ({
      ...volume,
      source: volume.hostPath,
      target: volume.mountPath,
    })),
    ...(enforcement?.mounts ?? []).map((mount, index) => ({ ...mount, name: `profile-${index}` })),
  ];
  const base = {
    metadata: {},
    spec: {
      securityContext: podSecurity(plan.isOpenShift ?? false),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      containers: [
        {
          name: 'mcp',
          image: spec.image,
          ...(spec.args === undefined ? {} : { args: spec.args }),
          // A server whose attach was lost gets a new process, because a session cannot start again on the same input.
          ...(spec.transport === 'stdio'
            ? { stdin: true, stdinOnce: true }
            : { ...portsOf(spec.targetPort), lifecycle: serverEnding }),
          securityContext: containerSecurity,
          env: serverEnv(plan),
          volumeMounts: [
            { name: 'tmp', mountPath: '/tmp' },
            ...mounts.map(({ name: volume, target, readOnly }) => ({
              name: volume,
              mountPath: target,
              readOnly,
            })),
          ],
        },
      ],
      volumes: [
        { name: 'tmp', emptyDir: {} },
        ...mounts.map(({ name: volume, source }) => ({ name: volume, hostPath: { path: source } })),
      ],
    },
  };
  const merged = mergeTemplate(base, spec.podTemplateSpec) as PodTemplate;
  const template = {
    ...merged,
    metadata: {
      ...merged.metadata,
      labels: { ...merged.metadata.labels, ...labels },
      annotations: {
        ...merged.metadata.annotations,
        'toolhive.stacklok.dev/secret-versions': secretVersions,
        ...restartAnnotation(restartedAt),
      },
    },
    spec: {
      ...merged.spec,
      ...pullSecretsOf(plan, merged.spec.imagePullSecrets ?? []),
      serviceAccountName: spec.serviceAccount ?? namesFor(plan).serverAccount,
    },
  };
  return child(types.statefulSet, plan, namesFor(plan).workload, labels, {
    spec: {
      serviceName: namesFor(plan).headlessService,
      podManagementPolicy: 'Parallel',
      ...(spec.backendReplicas === undefined ? {} : { replicas: spec.backendReplicas }),
      selector: { matchLabels: labels },
      template,
    },
  });
}

/**
 * A server pod that has to end still finishes its calls, while the proxies begin new sessions elsewhere. The rest of the
 * grace period of 30 s is for the server.
 */
const serverEnding = { preStop: { sleep: { seconds: 20 } } };

/** Where the proxy finds the pins. */
const TOOL_PINS = '/etc/toolhive/tool-pins';
const PINS_FILE = 'tool-pins.json';

/** Identifies the settings under which a server lists its tools. */
export function toolPinsHash({ runConfig, toolPins }: Plan): string | undefined {
  return toolPins === undefined ? undefined : hashOf([runConfig, toolPins]);
}

/** Where the proxy finds the session keys. */
const SESSION_KEYS = '/etc/toolhive/session-keys';

/** How long proxy pods finish calls, in seconds. Requests still arrive until the cluster has changed its routes. */
const DRAIN_DELAY = 5;
const DRAIN_TIMEOUT = 50;
const GRACE_PERIOD = 60;

/** Equal pods are on different nodes and in different zones if possible. */
function spreadOf(labels: Record<string, string>): object[] {
  return ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: labels },
  }));
}

/** The Secrets with credentials for image registries, each of them once. */
function pullSecretsOf({ imagePullSecrets = [] }: Plan, own: readonly object[]): object {
  const names = [...own.map((secret) => (secret as { name?: string }).name ?? ''), ...imagePullSecrets];
  const all = [...new Set(names)].filter((name) => name !== '').map((name) => ({ name }));
  return all.length === 0 ? {} : { imagePullSecrets: all };
}

interface PodTemplate {
  metadata: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: Record<string, unknown> & { hostNetwork?: boolean; imagePullSecrets?: object[] };
}

function portsOf(port: number | undefined): object {
  return port === undefined ? {} : { ports: [{ name: 'http', containerPort: port, protocol: 'TCP' }] };
}

function restartAnnotation(restartedAt: string | undefined): object {
  return restartedAt === undefined ? {} : { 'mcpserver.toolhive.stacklok.dev/restarted-at': restartedAt };
}

function serverEnv({ proxied, enforcement, egressAddress }: Plan): Entry[] {
  if (proxied.kind !== 'MCPServer') return [];
  const { spec } = proxied;
  const entries = new Map<string, Entry>();
  if (spec.transport !== 'stdio') {
    const port = String(spec.targetPort);
    for (const [name, value] of Object.entries({
      MCP_TRANSPORT: spec.transport,
      MCP_PORT: port,
      FASTMCP_PORT: port,
      MCP_HOST: '0.0.0.0',
    }))
      entries.set(name, { name, value });
  }
  for (const { name, value } of spec.env ?? []) entries.set(name, { name, value });
  for (const { name, key, targetEnvName } of spec.secrets ?? []) {
    const variable = targetEnvName ?? key;
    entries.set(variable, { name: variable, valueFrom: { secretKeyRef: { name, key } } });
  }
  if (enforcement?.egress.kind === 'gateway') {
    if (egressAddress === undefined) throw new InvalidSpec('the egress Service has no address');
    const host = egressAddress.includes(':') ? `[${egressAddress}]` : egressAddress;
    const url = `http://${host}:${EGRESS_PORT}`;
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
      entries.set(name, { name, value: url });
      entries.set(name.toLowerCase(), { name: name.toLowerCase(), value: url });
    }
    for (const name of ['NO_PROXY', 'no_proxy']) entries.set(name, { name, value: '' });
  }
  return [...entries.values()];
}

function deployment(plan: Plan): Child {
  const { proxied, runConfig, restartedAt, secretVersions } = plan;
  const { spec } = proxied;
  const { runConfig: configName, authorization, toolPins, proxyAccount, workload } = namesFor(plan);
  const labels = proxyLabelsFor(plan);
  const overrides = spec.resourceOverrides?.proxyDeployment;
  const pod = overrides?.podTemplateMetadataOverrides;
  const pullSecrets = pullSecretsOf(plan, [
    ...(podTemplateOf(plan)?.spec?.imagePullSecrets ?? []),
    ...(overrides?.imagePullSecrets ?? []),
  ]);
  const sessionKeys = sessionKeysOf(plan);
  const object = child(
    types.deployment,
    plan,
    workload,
    { ...overrides?.labels, ...labels },
    {
      spec: {
        ...(spec.replicas === undefined ? {} : { replicas: spec.replicas }),
        selector: { matchLabels: labels },
        // Two proxies cannot be attached to one server.
        strategy: isAttached(plan) ? { type: 'Recreate' } : { type: 'RollingUpdate' },
        template: {
          metadata: {
            labels: { ...pod?.labels, ...labels },
            annotations: {
              ...pod?.annotations,
              'toolhive.stacklok.dev/runconfig-checksum': hashOf([
                runConfig,
                plan.authorization ?? null,
                ...(plan.oidcSecretVersion === undefined ? [] : [plan.oidcSecretVersion]),
                ...(plan.storageVersions === undefined ? [] : [plan.storageVersions]),
              ]),
              'toolhive.stacklok.dev/secret-versions': secretVersions,
              ...restartAnnotation(restartedAt),
            },
          },
          spec: {
            serviceAccountName: proxyAccount,
            automountServiceAccountToken: needsToken(plan),
            enableServiceLinks: false,
            terminationGracePeriodSeconds: GRACE_PERIOD,
            securityContext: podSecurity(plan.isOpenShift ?? false),
            ...(isAttached(plan) ? {} : { topologySpreadConstraints: spreadOf(labels) }),
            ...pullSecrets,
            containers: [proxyContainer(plan)],
            volumes: [
              { name: 'runconfig', configMap: { name: configName } },
              { name: 'tmp', emptyDir: {} },
              ...(sessionKeys === undefined
                ? []
                : [{ name: 'session-keys', secret: { secretName: sessionKeys } }]),
              ...storageParts(proxied, plan.owner).volumes,
              ...(plan.toolPins === undefined ? [] : [{ name: 'tool-pins', configMap: { name: toolPins } }]),
              ...(plan.authorization === undefined
                ? []
                : [{ name: 'authz', configMap: { name: authorization } }]),
            ],
          },
        },
      },
    },
  );
  if (overrides?.annotations !== undefined) object.object.metadata.annotations = overrides.annotations;
  return object;
}

/** The proxy. Its arguments say how the proxy shares sessions, and how it ends. */
function proxyContainer(plan: Plan): object {
  const { spec } = plan.proxied;
  const usesGateway = plan.enforcement?.egress.kind === 'gateway';
  const drains = sessionKeysOf(plan) !== undefined;
  const storage = storageParts(plan.proxied, plan.owner);
  const sharing = drains
    ? [`--session-keys=${SESSION_KEYS}`, `--peer-port=${peerPortOf(spec)}`, ...storage.args]
    : [];
  const probeOf = (path: string): object => ({
    httpGet: { path, port: 'http', httpHeaders: [{ name: 'Host', value: 'localhost' }] },
    failureThreshold: 3,
  });
  return {
    name: 'toolhive',
    image: plan.runnerImage,
    args: [
      'run',
      ...(drains ? [`--drain-delay=${DRAIN_DELAY}`] : []),
      `--drain-timeout=${DRAIN_TIMEOUT}`,
      ...sharing,
      ...rateLimitArgs(spec),
      ...(plan.toolPins === undefined
        ? []
        : [
            `--tool-pins=${TOOL_PINS}/${PINS_FILE}`,
            `--listed-tools=${namesFor(plan).listedTools}/${toolPinsHash(plan)}`,
          ]),
    ],
    ports: [
      { name: 'http', containerPort: spec.port, protocol: 'TCP' },
      ...(drains ? [{ name: 'peers', containerPort: peerPortOf(spec), protocol: 'TCP' }] : []),
      ...(usesGateway ? [{ name: 'egress', containerPort: EGRESS_PORT, protocol: 'TCP' }] : []),
    ],
    env: [...proxyEnv(plan), ...storage.env],
    livenessProbe: {
      ...probeOf('/livez'),
      initialDelaySeconds: 30,
      periodSeconds: 10,
      timeoutSeconds: 5,
    },
    readinessProbe: {
      ...probeOf('/health'),
      initialDelaySeconds: 5,
      periodSeconds: 5,
      timeoutSeconds: 3,
    },
    // The proxy must not be restarted while its server's image is being pulled.
    startupProbe: {
      ...probeOf('/livez'),
      failureThreshold: 30,
      periodSeconds: 2,
      timeoutSeconds: 3,
    },
    ...(spec.resources === undefined ? {} : { resources: spec.resources }),
    securityContext: containerSecurity,
    volumeMounts: [
      { name: 'runconfig', mountPath: '/etc/runconfig', readOnly: true },
      { name: 'tmp', mountPath: '/tmp' },
      ...(drains ? [{ name: 'session-keys', mountPath: SESSION_KEYS, readOnly: true }] : []),
      ...storage.mounts,
      ...(plan.toolPins === undefined ? [] : [{ name: 'tool-pins', mountPath: TOOL_PINS, readOnly: true }]),
      ...(plan.authorization === undefined
        ? []
        : [{ name: 'authz', mountPath: '/etc/toolhive/authz', readOnly: true }]),
    ],
  };
}

function proxyEnv({ proxied }: Plan): Entry[] {
  const { spec, namespace, name, exchange } = proxied;
  const field = (fieldPath: string): object => ({ valueFrom: { fieldRef: { fieldPath } } });
  const entries = new Map<string, Entry>();
  const add = (variable: string, content: object): void => {
    entries.set(variable, { name: variable, ...content });
  };
  add('XDG_CONFIG_HOME', { value: '/tmp' });
  add('HOME', { value: '/tmp' });
  add('UNSTRUCTURED_LOGS', { value: 'false' });
  if (spec.telemetry?.openTelemetry?.enabled === true) {
    const service = spec.telemetry.openTelemetry.serviceName ?? name;
    add('OTEL_RESOURCE_ATTRIBUTES', { value: `service.name=${service},service.namespace=${namespace}` });
  }
  for (const { name: variable, value } of spec.resourceOverrides?.proxyDeployment?.env ?? []) {
    add(variable, { value });
  }
  // Overrides cannot change how the proxy finds its pods and its secrets.
  add('TOOLHIVE_RUNTIME', { value: 'kubernetes' });
  add('POD_NAMESPACE', field('metadata.namespace'));
  add('POD_NAME', field('metadata.name'));
  add('POD_IP', field('status.podIP'));
  if (exchange !== undefined) {
    const { name: secret, key } = exchange.clientSecretRef;
    add('TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET', {
      valueFrom: { secretKeyRef: { name: secret, key } },
    });
  }
  if (spec.oidcConfig?.type === 'configMap' && proxied.oidcData?.['clientSecret'] !== undefined) {
    const { name: configMap } = spec.oidcConfig.configMap ?? { name: '' };
    add('TOOLHIVE_OIDC_CLIENT_SECRET', {
      valueFrom: { configMapKeyRef: { name: configMap, key: 'clientSecret' } },
    });
  }
  return [...entries.values()];
}

/** The texts of inline policies as the file that the proxy reads. */
export function authorizationFile(policies: readonly string[], entitiesJson: string): string {
  return canonicalJson({ version: '1.0', type: 'cedarv1', cedar: { policies, entities_json: entitiesJson } });
}
