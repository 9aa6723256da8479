import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { translateValues, valueRules } from './values.ts';

const chart = new URL('../../../../../deploy/charts/toolhive-operator/values.yaml', import.meta.url);

const at = (values: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((inner, step) => (inner as Record<string, unknown> | undefined)?.[step], values);

/** The values that the chart of the original has by default. */
const defaults = {
  nameOverride: '',
  fullnameOverride: 'toolhive-operator',
  operator: {
    features: { experimental: false },
    replicaCount: 1,
    image: 'ghcr.io/stacklok/toolhive/operator:v0.4.0',
    imagePullPolicy: 'IfNotPresent',
    imagePullSecrets: [],
    toolhiveRunnerImage: 'ghcr.io/stacklok/toolhive/proxyrunner:v0.4.0',
    proxyHost: '0.0.0.0',
    env: {},
    autoscaling: { enabled: false, minReplicas: 1, maxReplicas: 100, targetCPUUtilizationPercentage: 80 },
    resources: { limits: { cpu: '500m', memory: '128Mi' }, requests: { cpu: '10m', memory: '64Mi' } },
    rbac: { scope: 'cluster', allowedNamespaces: [] },
    serviceAccount: {
      create: true,
      automountServiceAccountToken: true,
      annotations: {},
      labels: {},
      name: 'toolhive-operator',
    },
    leaderElectionRole: { name: 'leader', binding: { name: 'leader-binding' }, rules: [{ apiGroups: [''] }] },
  },
  registryAPI: {
    image: 'ghcr.io/stacklok/thv-registry-api:latest',
    serviceAccount: { create: true, automountServiceAccountToken: true, name: 'toolhive-registry-api' },
  },
};

test('every value that is kept exists in the chart', async () => {
  const values = parse(await readFile(chart, 'utf8')) as unknown;

  // A value that is not set by default exists as an empty map or list, or below a map with free names.
  const missing = valueRules.filter(
    ({ path, keeps }) => keeps === undefined && at(values, path) === undefined,
  );

  expect(missing.map(({ path }) => path)).toEqual([]);
});

test('the default values are translated without a refusal', () => {
  const { values, dropped, refused } = translateValues(defaults);

  expect(refused).toEqual([]);
  expect(values).toMatchObject({
    operator: { replicaCount: 1, resources: { limits: { cpu: '500m' }, requests: { memory: '64Mi' } } },
    registryAPI: { serviceAccount: { create: true, name: 'toolhive-registry-api' } },
  });
  expect(dropped.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['operator.image', 'operator.autoscaling', 'operator.resources.limits.memory']),
  );
});

test.each([
  ['operator.image', { operator: { image: 'mirror.example.com/operator:v0.4.0' } }],
  ['operator.image', { operator: { image: 'ghcr.io/stacklok/toolhive/operator-evil:v1' } }],
  ['operator.features.experimental', { operator: { features: { experimental: true } } }],
  ['operator.autoscaling', { operator: { autoscaling: { enabled: true } } }],
  ['operator.serviceAccount.labels', { operator: { serviceAccount: { labels: { team: 'red' } } } }],
  [
    'operator.serviceAccount.automountServiceAccountToken',
    { operator: { serviceAccount: { automountServiceAccountToken: false } } },
  ],
  ['operator.gc', { operator: { gc: { gomemlimit: '110MiB' } } }],
  ['operator', { operator: 'text' }],
  ['operator.rbac', { operator: { rbac: ['cluster'] } }],
  ['surprise', { surprise: 1 }],
])('the value %s is refused by its name if the chart cannot honor it', (path, given) => {
  expect(translateValues(given).refused.map((one) => one.path)).toEqual([path]);
});

test('more memory than this operator needs is kept, and less is left out', () => {
  const memoryOf = (memory: unknown): unknown =>
    at(
      translateValues({ operator: { resources: { limits: { memory } } } }).values,
      'operator.resources.limits.memory',
    );

  expect(['1Gi', '768Mi', '900M', '384Mi', '2G', 'lots', 5].map(memoryOf)).toEqual([
    '1Gi',
    '768Mi',
    '900M',
    undefined,
    '2G',
    undefined,
    undefined,
  ]);
});

test('namespaces without the scope namespace are left out, as the original ignores them', () => {
  const rbac = { scope: 'cluster', allowedNamespaces: ['a'] };

  const ignored = translateValues({ operator: { rbac } });
  const kept = translateValues({ operator: { rbac: { ...rbac, scope: 'namespace' } } });

  expect(ignored.dropped.map(({ path }) => path)).toEqual(['operator.rbac.allowedNamespaces']);
  expect(ignored.values).toEqual({ operator: { rbac: { scope: 'cluster' } } });
  expect(kept.values).toEqual({ operator: { rbac: { ...rbac, scope: 'namespace' } } });
});
