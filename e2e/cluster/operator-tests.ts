/* oxlint-disable vitest/valid-title, vitest/valid-describe-callback -- passed through */
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane, ControlPlaneOptions } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { applyObject } from './apply-object.ts';
import { readFields } from './object-fields.ts';
import { typeNamed } from './object-kinds.ts';
import { describeCluster } from './registered.ts';
import { startOperator } from './running-operator.ts';
import type { RunningOperator } from './running-operator.ts';

/** A custom resource as JSON. */
export function manifest(kind: string, name: string, spec: object): string {
  return JSON.stringify({ apiVersion: 'toolhive.stacklok.dev/v1alpha1', kind, metadata: { name }, spec });
}

/** An MCPServer as JSON, which speaks stdio unless the spec says otherwise. */
export function server(name: string, spec: object = {}): string {
  return manifest('MCPServer', name, { image: 'example/server:1', transport: 'stdio', ...spec });
}

/**
 * The controllers of Kubernetes for tests that need no pods. Making pods and replacing them at each change is most of the
 * work of the API server.
 */
export const withoutPods = [
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
];

/** What tests do with the objects of a cluster. Objects are named as for kubectl, such as `mcpserver/weather`. */
export interface ClusterObjects {
  /** Applies manifests one after the other, and takes over fields of others. */
  apply: (namespace: string, ...manifests: string[]) => Promise<void>;
  /** Waits until a condition is true for the current generation. */
  waitFor: (namespace: string, object: string, condition?: string) => Promise<void>;
  /** Deletes an object, and does not wait for its end. */
  remove: (namespace: string, object: string) => Promise<void>;
  annotate: (namespace: string, object: string, annotations: Record<string, string>) => Promise<void>;
  /** The value at a JSONPath, or an empty text if the object does not exist. */
  field: (namespace: string, object: string, path: string) => Promise<string>;
  /** The reason of a condition. */
  condition: (namespace: string, object: string, type: string) => Promise<string>;
  /** The run config of a proxy. */
  runConfig: (namespace: string, name: string) => Promise<Record<string, unknown>>;
}

/** How long `waitFor` waits, and how often it asks. */
const WAIT = { timeout: 60_000, interval: 100 };

interface Conditioned extends KubernetesObject {
  status?: {
    observedGeneration?: number;
    conditions?: { type: string; status: string; observedGeneration?: number }[];
  };
}

/** Works with the objects of a cluster, which starts later. A start of kubectl takes as long as dozens of requests. */
export function objectsOf(cluster: () => Pick<ControlPlane, 'kubectl' | 'client'>): ClusterObjects {
  const read = async (namespace: string, object: string, path: string): Promise<string> => {
    const { client, kubectl } = cluster();
    const found = await readFields(client, namespace, object, path);
    return found ?? kubectl(['get', '-n', namespace, object, '-o', `jsonpath=${path}`]);
  };
  const field = (namespace: string, object: string, path: string): Promise<string> =>
    read(namespace, object, path).catch(() => '');
  return {
    async apply(namespace, ...manifests) {
      for (const document of manifests.flatMap((text) => parseAllDocuments(text)))
        await applyObject(cluster(), namespace, document.toJS() as KubernetesObject);
    },
    async waitFor(namespace, object, condition = 'Ready') {
      const { type, name } = namedIn(object);
      const seen = async (): Promise<string> => {
        const { metadata, status } = await cluster().client.get<Conditioned>(type, { name, namespace });
        const found = status?.conditions?.find((each) => each.type === condition);
        const generation = found?.observedGeneration ?? status?.observedGeneration ?? metadata.generation;
        return generation === metadata.generation ? `${condition} ${found?.status}` : 'not seen yet';
      };
      await expect.poll(seen, { ...WAIT, message: `${object} in ${namespace}` }).toBe(`${condition} True`);
    },
    async remove(namespace, object) {
      const { type, name } = namedIn(object);
      await cluster().client.delete(type, { name, namespace });
    },
    async annotate(namespace, object, annotations) {
      const { type, name } = namedIn(object);
      await cluster().client.patch(type, { name, namespace }, { metadata: { annotations } });
    },
    field,
    condition: (namespace, object, type) =>
      field(namespace, object, `{.status.conditions[?(@.type=='${type}')].reason}`),
    runConfig: async (namespace, name) =>
      JSON.parse(await read(namespace, `configmap/${name}-runconfig`, '{.data.runconfig\\.json}')) as Record<
        string,
        unknown
      >,
  };
}

function namedIn(object: string): { type: ResourceType; name: string } {
  const [kind = '', name = ''] = object.split('/');
  const type = typeNamed(kind);
  if (type === undefined) throw new Error(`unknown kind ${kind}`);
  return { type, name };
}

/** A control plane with an operator, for the tests of one file. */
export interface World extends ClusterObjects {
  readonly cluster: ControlPlane;
  /** The running operator, which a test can replace. */
  operator: RunningOperator;
}

/** Registers tests with a control plane and an operator, which start before the first test. */
export function describeOperator(
  name: string,
  tests: (world: World) => void,
  {
    controllers,
    ...options
  }: Parameters<typeof startOperator>[1] & Pick<ControlPlaneOptions, 'controllers'> = {},
): void {
  describeCluster(name, () => {
    let cluster: ControlPlane | undefined;
    let operator: RunningOperator | undefined;
    beforeAll(async () => {
      cluster = await startControlPlane(controllers === undefined ? {} : { controllers });
      operator = await startOperator(cluster, options);
    });
    afterAll(async () => {
      await operator?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
    });
    const started = <Part>(part: Part | undefined): Part => {
      if (part === undefined) throw new Error('the control plane has not started');
      return part;
    };
    tests({
      ...objectsOf(() => started(cluster)),
      get cluster() {
        return started(cluster);
      },
      get operator() {
        return started(operator);
      },
      set operator(replacement) {
        operator = replacement;
      },
    });
  });
}
