// @suite kubernetes
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { ApiStatus } from '@toolhive/kubernetes/status';
import { resources, schemaOf } from '@toolhive/operator/crds';
import { expect, test } from 'vitest';
import { describeOperator, manifest, withoutPods } from './operator-tests.ts';
import type { World } from './operator-tests.ts';

interface Schema {
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema;
  minimum?: number;
  default?: unknown;
}

interface CustomObject extends KubernetesObject {
  spec: unknown;
  status?: {
    observedGeneration?: number;
    conditions?: Condition[];
  };
}

interface Condition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

const volume = (content: object): object => ({ spec: { volumes: [{ name: 'data', ...content }] } });
const probe = (content: object): object => ({
  spec: { containers: [{ name: 'mcp', livenessProbe: content, env: [{ name: 'LEVEL', value: '1' }] }] },
});

/** Valid values of fields, by the end of their path. The first one is part of the full spec. */
const values: Record<string, readonly unknown[]> = {
  image: ['example/server:1', 'example/server:2'],
  remoteURL: ['https://mcp.example.com/mcp', 'https://other.example.com/mcp'],
  'env.*.name': ['LEVEL', 'DEPTH'],
  'secrets.*.name': ['there', 'other'],
  'secrets.*.key': ['key', 'token'],
  'secrets.*.targetEnvName': ['TOKEN', 'KEY'],
  'volumes.*.name': ['extra', 'more'],
  'volumes.*.hostPath': ['/srv/a', '/srv/b'],
  'volumes.*.mountPath': ['/mnt/a', '/mnt/b'],
  'permissionProfile.type': ['configmap'],
  'permissionProfile.name': ['there', 'other'],
  'permissionProfile.key': ['profile', 'gateway'],
  serviceAccount: ['runner', 'walker'],
  groupRef: ['there', 'other'],
  'toolConfigRef.name': ['there', 'other'],
  'externalAuthConfigRef.name': ['there', 'other'],
  'clientSecretRef.name': ['there', 'other'],
  'clientSecretRef.key': ['key', 'token'],
  tokenUrl: ['https://id.example.com/token', 'https://id.example.com/other'],
  externalTokenHeaderName: ['x-token', 'x-other'],
  'authzConfig.configMap.name': ['there', 'other'],
  'authzConfig.configMap.key': ['authz.json', 'more.json'],
  'inline.policies': [['permit(principal, action, resource);'], ['forbid(principal, action, resource);']],
  entitiesJson: ['[]', '[{"uid":{"type":"User","id":"a"},"attrs":{},"parents":[]}]'],
  'oidcConfig.configMap.name': ['there', 'other'],
  // The operator refuses them with a condition.
  'kubernetes.serviceAccount': [undefined],
  'kubernetes.namespace': [undefined],
  issuer: ['https://id.example.com', 'https://id.example.org'],
  jwksUrl: ['https://id.example.com/keys', 'https://id.example.org/keys'],
  introspectionUrl: ['https://id.example.com/introspect', 'https://id.example.org/introspect'],
  resourceUrl: ['https://tools.example.com', 'https://tools.example.org'],
  thvCABundlePath: ['/etc/ca.pem', '/etc/other.pem'],
  jwksAuthTokenPath: ['/var/token', '/var/other'],
  'openTelemetry.endpoint': ['collector.example.com:4318', 'collector.example.org:4318'],
  headers: [['a=b'], ['c=d', 'e=f']],
  samplingRate: ['0.05', '1'],
  'inline.clientSecret': [undefined],
  'openTelemetry.tracing.enabled': [true, false],
  'requests.cpu': ['200m', '300m'],
  'requests.memory': ['64Mi', '96Mi'],
  cpu: ['500m', '1'],
  memory: ['128Mi', '0.5Gi'],
  port: [8080, 8081],
  targetPort: [9000, 9001],
  transport: ['streamable-http', 'stdio', 'sse', 'stdio'],
  'source.type': ['configmap'],
  'source.configmap.name': ['there', 'other'],
  'source.configmap.key': ['registry.json', 'more.json'],
  'source.git': [
    undefined,
    { repository: 'https://git.example.com/a', branch: 'main' },
    { repository: 'https://git.example.com/b', tag: 'a' },
  ],
  'source.api.endpoint': ['https://registry.example.com', 'https://registry.example.org'],
  interval: ['1h', '30m'],
  refillPeriod: ['1m', '10s'],
  hashes: [['a'.repeat(64)], ['b'.repeat(64), 'c'.repeat(64)]],
  'toolPins.configMap.name': ['there', 'other'],
  'toolPins.configMap.key': ['tool-pins.json', 'more-pins'],
  'sessionStorage.provider': ['valkey', 'redis', 'memory'],
  'sessionStorage.address': ['valkey.example.com:6379', 'redis.example.com:6379'],
  'passwordRef.name': ['there', 'other'],
  'passwordRef.key': ['key', 'token'],
  'caRef.kind': ['ConfigMap', 'Secret'],
  'caRef.name': ['there', 'other'],
  'caRef.key': ['ca.crt', 'key'],
  podTemplateSpec: [
    undefined,
    volume({ configMap: { name: 'there' } }),
    volume({ secret: { secretName: 'there' } }),
    volume({ emptyDir: { sizeLimit: '1Mi' } }),
    volume({ hostPath: { path: '/srv' } }),
    volume({ projected: { sources: [{ configMap: { name: 'there' } }, { secret: { name: 'there' } }] } }),
    probe({ httpGet: { path: '/', port: 9000 } }),
    probe({ exec: { command: ['true'] } }),
    probe({ tcpSocket: { port: 9000 } }),
    probe({ grpc: { port: 9000 } }),
    {
      spec: {
        containers: [
          { name: 'mcp', env: [{ name: 'LEVEL', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
        ],
      },
    },
    {
      spec: {
        containers: [{ name: 'side', image: 'example/side:1' }],
        initContainers: [{ name: 'first', image: 'example/first:1' }],
      },
    },
    { spec: { initContainers: [{ name: 'first', image: 'example/first:1', restartPolicy: 'Always' }] } },
    {
      spec: {
        tolerations: [{ operator: 'Exists' }],
        nodeSelector: { zone: 'a' },
        imagePullSecrets: [{ name: 'pull' }],
      },
    },
    {
      spec: {
        hostAliases: [{ ip: '10.0.0.1', hostnames: ['a'] }],
        dnsPolicy: 'None',
        dnsConfig: { nameservers: ['10.0.0.2'] },
      },
    },
    {
      spec: {
        topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
      },
    },
    { metadata: { labels: { team: 'red' }, annotations: { 'example.com/scrape': 'true' } } },
  ],
};

/** Blocks that a type selects, and that exist together in the full spec. */
const isBlock = /(^|\.)(git|api)$/;

/** The reasons of specs that break a rule about several fields. */
const refusals = /^(InvalidSpec|PermissionProfileNotFound):/;

/** A change of one field of a full spec. */
interface FieldChange {
  path: string;
  value: unknown;
}

function valuesAt(path: string, { type, enum: choices, minimum = 0 }: Schema): readonly unknown[] {
  const known = Object.entries(values)
    .filter(([end]) => path === end || path.endsWith(`.${end}`))
    .toSorted(([a], [b]) => b.length - a.length)[0]?.[1];
  if (known !== undefined) return known;
  if (choices !== undefined) return choices;
  if (type === 'boolean') return [false, true];
  if (type === 'integer' || type === 'number') return [minimum + 1, minimum + 2];
  return ['one', 'two'];
}

/** A spec with every field that the schema has. */
function fullSpec(schema: Schema, path = ''): unknown {
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const isKnown = Object.keys(values).some((end) => path === end || path.endsWith(`.${end}`));
  if (isKnown) return valuesAt(path, schema)[0];
  if (schema.type === 'array') return [fullSpec(schema.items ?? {}, at('*'))];
  if (schema.additionalProperties !== undefined)
    return { one: fullSpec(schema.additionalProperties, at('one')) };
  if (schema.properties === undefined) return valuesAt(path, schema)[0];
  const entries = Object.entries(schema.properties)
    .filter(([name]) => !isBlock.test(at(name)))
    .map(([name, below]) => [name, fullSpec(below, at(name))]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** Every change of one field: to each other value, to more and to fewer items, and to nothing. */
function* changesOf(schema: Schema, full: unknown, path = ''): Generator<FieldChange> {
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  const isKnown = Object.keys(values).some((end) => path === end || path.endsWith(`.${end}`));
  if (
    isKnown ||
    (schema.type !== 'array' && schema.properties === undefined && schema.additionalProperties === undefined)
  ) {
    for (const value of valuesAt(path, schema).slice(1)) yield { path, value };
    return;
  }
  if (schema.type === 'array') {
    yield { path, value: [] };
    const [item] = full as unknown[];
    for (const { path: where, value } of changesOf(schema.items ?? {}, item, at('*')))
      yield { path: where.replace('*', '0'), value };
    if (typeof item === 'string') yield { path, value: [item, 'more'] };
    return;
  }
  if (schema.additionalProperties !== undefined) {
    yield { path, value: {} };
    const [item] = Object.values(full as object) as unknown[];
    yield { path, value: { one: item, two: item } };
    return;
  }
  for (const [name, below] of Object.entries(schema.properties ?? {})) {
    yield* changesOf(below, (full as Record<string, unknown> | undefined)?.[name], at(name));
    if (!(schema.required ?? []).includes(name)) yield { path: at(name), value: undefined };
  }
}

function changed(spec: unknown, path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  if (Array.isArray(spec))
    return spec.map((item, index) => (String(index) === name ? changed(item, rest, value) : item));
  const { [name]: before, ...others } = (spec ?? {}) as Record<string, unknown>;
  const after = changed(before, rest, value);
  return after === undefined ? others : { ...others, [name]: after };
}

function specWith(full: unknown, changes: readonly FieldChange[]): unknown {
  return changes.reduce((spec, { path, value }) => changed(spec, path.split('.'), value), full);
}

const nameOf = (changes: readonly FieldChange[]): string =>
  changes.map(({ path, value }) => `${path} = ${JSON.stringify(value)}`).join(', ');

/** Whether none of two changes is about a part of what the other one is about. */
function areApart(one: FieldChange, other: FieldChange): boolean {
  const [a, b] = [`${one.path}.`, `${other.path}.`];
  return !a.startsWith(b) && !b.startsWith(a);
}

/**
 * Changes of different fields that can be made at once, because a pass of the operator takes most of the time. The API
 * server refuses most specs in which an object loses its last field, so these changes are made alone.
 */
function batchesOf(full: unknown, changes: readonly FieldChange[]): FieldChange[][] {
  const kindOf = (change: FieldChange): string => {
    const object = change.value ?? at(specWith(full, [change]), change.path.split('.').slice(0, -1));
    if (typeof object === 'object' && object !== null && Object.keys(object).length === 0) return 'empty';
    return change.value === undefined ? 'removed' : 'changed';
  };
  const batches: { kind: string; batch: FieldChange[] }[] = [];
  for (const change of changes) {
    const kind = kindOf(change);
    const found = batches.find(
      (each) =>
        kind !== 'empty' && each.kind === kind && each.batch.every((other) => areApart(change, other)),
    );
    if (found === undefined) batches.push({ kind, batch: [change] });
    else found.batch.push(change);
  }
  return batches.map(({ batch }) => batch);
}

function at(spec: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], spec);
}

async function prepare({ apply }: World, namespace: string): Promise<void> {
  const registry = { version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: {} };
  const authz = {
    version: '1.0',
    type: 'cedarv1',
    cedar: { policies: ['permit(principal, action, resource);'], entities_json: '[]' },
  };
  const data = {
    'registry.json': JSON.stringify(registry),
    'more.json': JSON.stringify({ ...registry, ...authz }),
    'authz.json': JSON.stringify(authz),
    profile: JSON.stringify({
      network: { outbound: { insecure_allow_all: true, allow_host: ['0.0.0.0/0', '::/0', '100.64.0.0/10'] } },
    }),
    gateway: JSON.stringify({ network: { outbound: { allow_host: ['api.example.com'] } } }),
    'tool-pins.json': '[]',
    'more-pins': JSON.stringify([{ kind: 'prompt', name: 'ask', hashes: ['d'.repeat(64)] }]),
    issuer: 'https://id.example.com',
    audience: 'tools',
    clientSecret: 'hidden',
    'ca.crt': 'a certificate',
    key: 'another certificate',
  };
  const exchange = {
    type: 'tokenExchange',
    tokenExchange: {
      tokenUrl: 'https://id.example.com/token',
      clientId: 'toolhive',
      clientSecretRef: { name: 'there', key: 'key' },
      audience: 'server',
    },
  };
  for (const name of ['there', 'other']) {
    await apply(
      namespace,
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name },
        stringData: { key: 'a', token: 'b', 'ca.crt': 'c' },
      }),
      manifest('MCPGroup', name, {}),
      manifest('MCPToolConfig', name, { toolsFilter: ['one'] }),
      manifest('MCPExternalAuthConfig', name, exchange),
    );
  }
  for (const name of ['runner', 'walker'])
    await apply(namespace, JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }));
}

describeOperator(
  'a change of one field on a live object',
  (world) => {
    test.each(resources.map((resource) => [resource.kind, resource] as const))(
      'settles, whatever the value before, for every field of %s',
      { timeout: 600_000 },
      async (kind, resource) => {
        const namespace = await world.cluster.namespace({
          'pod-security.kubernetes.io/enforce': 'privileged',
        });
        await prepare(world, namespace);
        const { client } = world.cluster;
        const type: ResourceType = {
          apiVersion: 'toolhive.stacklok.dev/v1alpha1',
          kind,
          plural: resource.plural,
        };
        const name = { name: 'changing', namespace };
        const settle = async (spec: unknown): Promise<string | undefined> => {
          const wanted = { apiVersion: type.apiVersion, kind, metadata: name, spec };
          const options = { fieldManager: 'test', force: true };
          const { metadata } = await client.apply<CustomObject>(type, wanted, options);
          let conditions: Condition[] = [];
          const isSeen = async (): Promise<boolean> => {
            const { status } = await client.get<CustomObject>(type, name);
            conditions = status?.conditions ?? [];
            return status?.observedGeneration === metadata.generation;
          };
          await expect.poll(isSeen, { interval: 50, message: JSON.stringify(spec) }).toBe(true);
          const stalled = conditions.find((each) => each.type === 'Stalled');
          return stalled && `${stalled.reason}: ${stalled.message}`;
        };
        const schema = schemaOf(resource).properties.spec as Schema; // the same document
        const full = fullSpec(schema);
        const changes = [...changesOf(schema, full)];
        const lines = world.operator.lines.length;

        const problems: string[] = [];
        const refused: string[] = [];
        /** Makes changes at once. If they do not work, or not with each other, makes each half of them. */
        const tryAll = async (batch: readonly FieldChange[]): Promise<void> => {
          const answer = await settle(specWith(full, batch)).catch((error: unknown) => {
            if (!(error instanceof ApiStatus)) throw error;
            return error;
          });
          if (answer === undefined) return;
          if (batch.length > 1) {
            const half = Math.ceil(batch.length / 2);
            await tryAll(batch.slice(0, half));
            await tryAll(batch.slice(half));
            return;
          }
          const message = answer instanceof ApiStatus ? answer.message : answer;
          const isRefused = answer instanceof ApiStatus || refusals.test(answer);
          (isRefused ? refused : problems).push(`${nameOf(batch)}: ${message}`);
        };
        const before = await settle(full);
        for (const batch of batchesOf(full, changes)) await tryAll(batch);
        const after = await settle(full);

        expect([before, after]).toEqual([undefined, undefined]);
        expect(problems).toEqual([]);
        expect(refused.slice(2 + changes.length / 4)).toEqual([]);
        const failed = world.operator.lines.slice(lines).filter((line) => line.includes('pass failed'));
        expect(failed.filter((line) => !line.includes('"code":409'))).toEqual([]);
      },
    );
  },
  { controllers: withoutPods },
);
