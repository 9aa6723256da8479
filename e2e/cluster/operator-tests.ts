/* oxlint-disable vitest/valid-title, vitest/valid-describe-callback -- passed through */
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane, ControlPlaneOptions } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll } from 'vitest';
import { readFields } from './object-fields.ts';
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

/** What tests do with the objects of a cluster. Objects are named as for kubectl, such as `mcpserver/weather`. */
export interface ClusterObjects {
  /** Applies manifests, and returns the output of kubectl. */
  apply: (namespace: string, ...manifests: string[]) => Promise<string>;
  waitFor: (namespace: string, object: string, condition?: string) => Promise<string>;
  /** The value at a JSONPath, or an empty text if the object does not exist. */
  field: (namespace: string, object: string, path: string) => Promise<string>;
  /** The reason of a condition. */
  condition: (namespace: string, object: string, type: string) => Promise<string>;
  /** The run config of a proxy. */
  runConfig: (namespace: string, name: string) => Promise<Record<string, unknown>>;
}

/** Works with the objects of a cluster, which starts later. Reading starts kubectl only where it must. */
export function objectsOf(cluster: () => Pick<ControlPlane, 'kubectl' | 'client'>): ClusterObjects {
  const read = async (namespace: string, object: string, path: string): Promise<string> => {
    const { client, kubectl } = cluster();
    const found = await readFields(client, namespace, object, path);
    return found ?? kubectl(['get', '-n', namespace, object, '-o', `jsonpath=${path}`]);
  };
  const field = (namespace: string, object: string, path: string): Promise<string> =>
    read(namespace, object, path).catch(() => '');
  return {
    apply: (namespace, ...manifests) =>
      cluster().kubectl(['apply', '-n', namespace, '-f', '-'], manifests.join('\n---\n')),
    waitFor: (namespace, object, condition = 'condition=Ready') =>
      cluster().kubectl(['wait', '-n', namespace, `--for=${condition}`, object, '--timeout=60s']),
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
