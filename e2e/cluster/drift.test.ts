// @suite kubernetes
import { KubernetesClient } from '@toolhive/kubernetes/client';
import { loadKubeconfig } from '@toolhive/kubernetes/config';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { ApiStatus, isConflict } from '@toolhive/kubernetes/status';
import { expect, test } from 'vitest';
import { describeOperator, manifest, server, withoutPods } from './operator-tests.ts';
import type { World } from './operator-tests.ts';

type Content = Record<string, unknown>;
type Child = KubernetesObject & Content;

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  type?: string;
  format?: string;
  enum?: string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema;
}
interface OpenApi {
  components: {
    schemas: Record<string, Schema & { 'x-kubernetes-group-version-kind'?: { kind: string }[] }>;
  };
}

const kinds = [
  types.configMap,
  types.deployment,
  types.networkPolicy,
  types.role,
  types.roleBinding,
  types.service,
  types.serviceAccount,
  types.statefulSet,
];

/** The fields that may stay as other programs set them. The page about the operator lists them. */
const exceptions = [
  /^(Deployment|StatefulSet) spec\.replicas\b/, // people and autoscalers choose
  /^ServiceAccount (secrets|imagePullSecrets)\b/, // credentials of the platform
  /\b(env|volumes|volumeMounts|ports) reversed$/, // items with names, in any order
];

/** DRIFT_TEST=all tries every change of pod templates, which takes minutes. By default, the test tries one of sixteen. */
const isComplete = process.env['DRIFT_TEST'] === 'all';

/** A change of one object by hand. */
interface Mutation {
  what: string;
  apply: (object: Child) => void;
}

const isObject = (value: unknown): value is Content =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The content of an object that has to stay. */
function contentOf({ metadata, status: _status, ...content }: Child): unknown {
  const { labels, annotations, ownerReferences, finalizers } = metadata;
  const { 'deployment.kubernetes.io/revision': _revision, ...notes } = annotations ?? {};
  return { ...content, metadata: { labels, annotations: notes, ownerReferences, finalizers } };
}

/** The object or list at a path, or an empty one if an earlier change is still in place. */
function at(object: unknown, path: readonly (string | number)[]): Content {
  return (path.reduce<unknown>((value, step) => (value as Content | undefined)?.[step], object) ??
    {}) as Content;
}

/** A value that a field does not have. */
function otherValue(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') return /^\d+$/.test(value) ? String(Number(value) + 1) : `${value}x`;
  return value;
}

/** An item for a list, which differs from the first one in every text and number. */
function otherItem(item: unknown): unknown {
  if (Array.isArray(item)) return item.map(otherItem);
  if (!isObject(item)) return otherValue(item);
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, otherItem(value)]));
}

class Mutations {
  readonly #schemas: OpenApi['components']['schemas'];
  readonly #kind: string;
  readonly found: Mutation[] = [];

  constructor({ components }: OpenApi, kind: string) {
    this.#schemas = components.schemas;
    this.#kind = kind;
  }

  /** Collects every change of an object: of fields that exist, and of fields that its schema allows. */
  collect(object: Child): Mutation[] {
    const root = Object.values(this.#schemas).find((schema) =>
      schema['x-kubernetes-group-version-kind']?.some(({ kind }) => kind === this.#kind),
    );
    const { properties = {} } = root ?? {};
    for (const [name, schema] of Object.entries(properties)) {
      if (['apiVersion', 'kind', 'metadata', 'status'].includes(name)) continue;
      if (object[name] === undefined) this.#addMissing([name], schema);
      else this.#walk(object[name], [name], this.#resolve(schema));
    }
    const owners = ['metadata', 'ownerReferences'];
    this.#change(owners, (parent) => {
      const [owner] = parent['ownerReferences'] as Content[];
      if (owner !== undefined) owner['controller'] = false;
    });
    this.#change(owners, (parent) => (parent['ownerReferences'] = []));
    this.#change(owners, (parent) =>
      ((parent['ownerReferences'] ??= []) as unknown[]).push({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        name: 'a',
        uid: 'a',
      }),
    );
    for (const map of ['labels', 'annotations']) {
      const entries = object.metadata[map as 'labels'] ?? {};
      for (const name of Object.keys(entries)) {
        if (name === 'deployment.kubernetes.io/revision') continue;
        this.#change(['metadata', map, name], (parent) => (parent[name] = 'other'));
        this.#change(['metadata', map, name], (parent) => delete parent[name]);
      }
    }
    return this.found;
  }

  #change(path: readonly (string | number)[], mutate: (parent: Content) => unknown, how = ''): void {
    const apply = (object: Child): void => void mutate(at(object, path.slice(0, -1)));
    this.found.push({ what: `${this.#kind} ${path.join('.')}${how}`, apply });
  }

  #walk(value: unknown, path: readonly (string | number)[], schema: Schema): void {
    const last = path.at(-1) ?? '';
    this.#change(path, (parent) => delete parent[last], ' removed');
    if (Array.isArray(value)) {
      const item = value[0] === undefined ? this.#sample(schema.items ?? {}, 3) : otherItem(value[0]);
      this.#change(path, (parent) => (parent[last] = [...value, item]), ' with another item');
      if (value.length > 0) this.#change(path, (parent) => (parent[last] = []), ' emptied');
      if (value.length > 1) this.#change(path, (parent) => (parent[last] = value.toReversed()), ' reversed');
      for (const [index, each] of value.entries()) {
        if (isObject(each)) this.#walkFields(each, [...path, index], this.#resolve(schema.items ?? {}));
        else this.#change([...path, index], (parent) => (parent[index] = otherValue(each)));
      }
    } else if (isObject(value)) {
      this.#walkFields(value, path, schema);
    } else {
      this.#change(path, (parent) => (parent[last] = otherValue(value)));
    }
  }

  #walkFields(value: Content, path: readonly (string | number)[], schema: Schema): void {
    for (const [name, below] of Object.entries(value)) {
      this.#walk(
        below,
        [...path, name],
        this.#resolve(schema.properties?.[name] ?? schema.additionalProperties ?? {}),
      );
    }
    for (const [name, below] of Object.entries(schema.properties ?? {})) {
      if (value[name] === undefined) this.#addMissing([...path, name], below);
    }
    if (schema.additionalProperties === undefined) return;
    this.#change(
      [...path, 'added'],
      (parent) => (parent['added'] = this.#sample(schema.additionalProperties ?? {}, 2)),
    );
  }

  #addMissing(path: readonly (string | number)[], schema: Schema): void {
    const last = path.at(-1) ?? '';
    const sample = this.#sample(schema, 3);
    if (sample !== undefined) this.#change(path, (parent) => (parent[last] = sample), ' added');
  }

  #resolve({ $ref, allOf, ...schema }: Schema): Schema {
    const reference = $ref ?? allOf?.[0]?.$ref;
    if (reference === undefined) return schema;
    return this.#resolve(this.#schemas[reference.slice('#/components/schemas/'.length)] ?? {});
  }

  #sample(unresolved: Schema, depth: number): unknown {
    const schema = this.#resolve(unresolved);
    if (schema.enum !== undefined) return schema.enum.find((choice) => choice !== '');
    if (schema.type === 'boolean') return true;
    if (schema.type === 'integer' || schema.type === 'number') return 1;
    if (schema.type === 'string') return schema.format === 'date-time' ? new Date(0).toISOString() : 'added';
    if (depth === 0) return schema.type === 'array' ? [] : {};
    if (schema.type === 'array') return [this.#sample(schema.items ?? {}, depth - 1)];
    if (schema.additionalProperties !== undefined)
      return { added: this.#sample(schema.additionalProperties, depth - 1) };
    const names = schema.required ?? [];
    return Object.fromEntries(
      names.map((name) => [name, this.#sample(schema.properties?.[name] ?? {}, depth - 1)]),
    );
  }
}

async function childrenOf(
  { cluster }: World,
  namespace: string,
): Promise<{ type: ResourceType; child: Child }[]> {
  const lists = kinds.map(async (type) => {
    const labelSelector = 'app.kubernetes.io/managed-by=toolhive-operator';
    const { items } = await cluster.client.list<Child>(type, { namespace, labelSelector });
    return items.map((child) => ({ type, child }));
  });
  return (await Promise.all(lists)).flat();
}

async function createAll({ apply, field }: World, namespace: string): Promise<void> {
  const oidcConfig = { type: 'inline', inline: { issuer: 'https://id.example.com', audience: 'tools' } };
  const profile = JSON.stringify({ network: { outbound: { allow_host: ['api.example.com'] } } });
  const registry = { version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: {} };
  const data = { web: profile, 'registry.json': JSON.stringify(registry) };
  const authzConfig = { type: 'inline', inline: { policies: ['permit(principal, action, resource);'] } };
  await apply(
    namespace,
    JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'data' }, data }),
    server('talk', { authzConfig }),
    server('web', {
      transport: 'streamable-http',
      targetPort: 9000,
      args: ['serve'],
      env: [{ name: 'LEVEL', value: '1' }],
      permissionProfile: { type: 'configmap', name: 'data', key: 'web' },
      resources: { limits: { cpu: '1000m', memory: '0.5Gi' } },
      podTemplateSpec: {
        spec: { tolerations: [{ key: 'a', operator: 'Exists' }], imagePullSecrets: [{ name: 'a' }] },
      },
    }),
    manifest('MCPRemoteProxy', 'far', { remoteURL: 'https://mcp.example.com/mcp', oidcConfig }),
    manifest('MCPRegistry', 'company', { source: { type: 'configmap', configmap: { name: 'data' } } }),
  );
  // Without pods, this is all that happens. The registry comes last, because its data is read first.
  for (const object of ['mcpserver/talk', 'mcpserver/web', 'mcpremoteproxy/far', 'mcpregistry/company'])
    await expect.poll(() => field(namespace, object, '{.status.observedGeneration}')).toBe('1');
}

describeOperator(
  'a change of a generated object by hand',
  (world) => {
    test('is reverted, for every field and every list of every object', { timeout: 900_000 }, async () => {
      const namespace = await world.cluster.namespace({ 'pod-security.kubernetes.io/enforce': 'privileged' });
      await createAll(world, namespace);
      await using hand = new KubernetesClient(await loadKubeconfig({ path: world.cluster.kubeconfig }), {
        userAgent: 'hand',
      });
      const children = await childrenOf(world, namespace);
      const documents = new Map<string, OpenApi>();
      for (const { apiVersion } of kinds) {
        const path = apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
        documents.set(apiVersion, (await hand.read(`/openapi/v3/${path}`)) as OpenApi);
      }
      const kept: string[] = [];
      let changed = 0;

      /** Returns a function that makes the next change of an object and waits for its end, or returns false if there is none. */
      const changesOf = async ({
        type,
        child,
      }: (typeof children)[number]): Promise<() => Promise<boolean>> => {
        const name = { name: child.metadata.name, namespace };
        const read = (): Promise<Child> =>
          hand.get<Child>(type, name).catch(() => ({ ...child, metadata: { name: 'missing' } }));
        const document = documents.get(type.apiVersion);
        if (document === undefined) throw new Error(`no schema of ${type.apiVersion}`);
        const wanted = JSON.stringify(contentOf(await read()));
        const isWorkload = type === types.deployment || type === types.statefulSet;
        const waiting = new Mutations(document, type.kind)
          .collect(child)
          .filter((_, index) => !isWorkload || isComplete || index % 16 === 0)
          .filter(({ what }) => !exceptions.some((pattern) => pattern.test(what)));
        const change = async (apply: Mutation['apply']): Promise<boolean> => {
          const live = await read();
          if (live.metadata.name === 'missing') return change(apply);
          const before = JSON.stringify(contentOf(live));
          apply(live);
          if (JSON.stringify(contentOf(live)) === before) return false;
          const stored = await hand.replace<Child>(type, live).catch((error: unknown) => {
            if (isConflict(error)) return change(apply);
            if (error instanceof ApiStatus) return undefined; // the API server does not allow the change
            throw error;
          });
          return typeof stored === 'object' ? JSON.stringify(contentOf(stored)) !== wanted : stored === true;
        };
        return async () => {
          for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
            if (!(await change(next.apply))) continue;
            changed += 1;
            const isBack = await expect
              .poll(async () => JSON.stringify(contentOf(await read())), { timeout: 60_000 })
              .toBe(wanted)
              .then(
                () => true,
                () => false,
              );
            if (!isBack) kept.push(`${next.what} of ${child.metadata.name}`);
            return true;
          }
          return false;
        };
      };
      const all = await Promise.all(
        children.map(async (each) => ({
          owner: each.child.metadata.ownerReferences?.[0]?.uid,
          makeNext: await changesOf(each),
        })),
      );
      // One change of each object is the only one of its owner, so that the change itself has to be noticed.
      const owners = Map.groupBy(all, ({ owner }) => owner);
      const changeOneByOne = async (group: typeof all): Promise<void> => {
        for (const { makeNext } of group) await makeNext();
      };
      await Promise.all([...owners.values()].map(changeOneByOne));
      // The others share passes of the operator, which take most of the time.
      const changeEverything = async ({ makeNext }: (typeof all)[number]): Promise<void> => {
        while (await makeNext());
      };
      await Promise.all(all.map(changeEverything));

      expect(kept).toEqual([]);
      expect(new Set(children.map(({ type }) => type.kind)).size).toBe(kinds.length);
      expect(changed).toBeGreaterThan(isComplete ? 1_500 : 200);
    });
  },
  { controllers: withoutPods },
);
