import { execFile } from 'node:child_process';
import { mkdir, mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { describeCluster } from './registered.ts';

const run = promisify(execFile);
const root = new URL('../..', import.meta.url).pathname;
const crdChart = join(root, 'deploy/charts/toolhive-operator-crds');
const operatorChart = join(root, 'deploy/charts/toolhive-operator');

describeCluster('the Helm charts', () => {
  let cluster: ControlPlane;
  let tools: string;
  beforeAll(async () => {
    const built = await run(join(root, 'packages/operator/control-plane/chart-tools/chart-tools.sh'), [], { timeout: 15 * 60_000 }); // prettier-ignore
    tools = built.stdout.trim();
    cluster = await startControlPlane();
  }, 20 * 60_000);
  afterAll(() => cluster[Symbol.asyncDispose]());

  const helm = async (...words: string[]): Promise<string> =>
    (await run(join(tools, 'helm'), words, { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } }))
      .stdout;

  test.each([crdChart, operatorChart])('pass helm lint: %s', async (chart) => {
    expect(await helm('lint', '--strict', chart)).toContain('0 chart(s) failed');
  });

  test('pass their unit tests', async () => {
    const { stdout } = await run(join(tools, 'helm-unittest'), [operatorChart]);

    expect(stdout).toMatch(/Tests: +\d+ passed/);
  });

  test.each([
    ['default values', []],
    ['values for OpenShift', ['--values', join(operatorChart, 'values-openshift.yaml')]],
    [
      'one namespace',
      ['--set', 'operator.rbac.scope=namespace', '--set', 'operator.rbac.allowedNamespaces={default}'],
    ],
    ['optional objects', ['--set', 'operator.podDisruptionBudget.enabled=true', '--set', 'operator.networkPolicy.enabled=true']], // prettier-ignore
  ])('are valid for the schemas of the API server: %s', async (_case, words) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-charts-'));
    await writeSchemas(cluster, folder.path);
    const manifests = join(folder.path, 'manifests.yaml');
    await writeFile(
      manifests,
      await helm('template', 'release', operatorChart, '--namespace', 'default', ...words),
    );

    const location = join(folder.path, '{{ .ResourceKind }}{{ .KindSuffix }}.json');
    const checked = await run(join(tools, 'kubeconform'), ['-strict', '-summary', '-schema-location', location, manifests]); // prettier-ignore

    expect(checked.stdout).toMatch(/Invalid: 0, Errors: 0, Skipped: 0/);
  });

  test('install, and upgrade to a later version without a new operator pod for equal values', async () => {
    const namespace = await cluster.namespace();
    const common = [
      '--namespace',
      namespace,
      '--kubeconfig',
      cluster.kubeconfig,
      '--timeout',
      '2m',
      '--wait',
    ];
    await helm('upgrade', '--install', 'operator', operatorChart, ...common);
    const templateOf = () =>
      cluster.kubectl([
        'get',
        'deployment',
        'toolhive-operator',
        '-n',
        namespace,
        '-o',
        'jsonpath={.spec.template}',
      ]);
    const before = await templateOf();
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-charts-'));
    const later = join(folder.path, 'toolhive-operator');
    await run('cp', ['-r', operatorChart, later]);
    const manifest = parse(await readFile(join(later, 'Chart.yaml'), 'utf8')) as object;
    await writeFile(join(later, 'Chart.yaml'), stringify({ ...manifest, version: '0.2.0' }));

    await helm('upgrade', 'operator', later, ...common);
    const after = await templateOf();
    await helm('upgrade', 'operator', later, ...common, '--set', 'operator.replicaCount=2');

    expect(after).toBe(before);
    const ready = [
      'get',
      'deployment',
      'toolhive-operator',
      '-n',
      namespace,
      '-o',
      'jsonpath={.status.readyReplicas}',
    ];
    expect(await cluster.kubectl(ready)).toBe('2');
  });

  test('the operator may do no more than its rules say', async () => {
    const namespace = await cluster.namespace();
    await helm('upgrade', '--install', `rules`, operatorChart, '--namespace', namespace, '--set', 'operator.rbac.scope=namespace', '--set', `operator.rbac.allowedNamespaces={${namespace}}`, '--take-ownership'); // prettier-ignore
    const can = (...words: string[]) =>
      cluster
        .kubectl(['auth', 'can-i', ...words, `--as=system:serviceaccount:${namespace}:toolhive-operator`])
        .catch((error: { stdout?: string }) => error.stdout?.trim() ?? '');

    expect(await can('list', 'mcpservers.toolhive.stacklok.dev', '-n', namespace)).toBe('yes');
    expect(await can('create', 'deployments.apps', '-n', namespace)).toBe('yes');
    expect(await can('create', 'secrets', '-n', namespace)).toBe('no');
    expect(await can('create', 'pods', '-n', namespace)).toBe('no');
    expect(await can('create', 'clusterroles.rbac.authorization.k8s.io')).toBe('no');
    expect(await can('escalate', 'roles.rbac.authorization.k8s.io', '-n', namespace)).toBe('no');
  });

  test('every example is accepted by the API server', async () => {
    const namespace = await cluster.namespace();
    const folder = join(root, 'deploy/examples');

    for (const file of await readdir(folder)) {
      const words = ['apply', '--server-side', '--dry-run=server', '-n', namespace, '-f', join(folder, file)];
      expect(await cluster.kubectl(words)).toContain('serverside-applied');
    }
  });
});

/** Writes the schemas of the running API server, because those of a website cannot be read here. */
async function writeSchemas({ client }: ControlPlane, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { paths } = (await client.read('/openapi/v3')) as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  for (const { serverRelativeURL } of Object.values(paths)) {
    const document = (await client.read(serverRelativeURL)) as {
      components?: { schemas?: Record<string, Schema> };
    };
    const schemas = document.components?.schemas ?? {};
    for (const [name, schema] of Object.entries(schemas)) {
      const text = JSON.stringify({
        $ref: `#/components/schemas/${name}`,
        components: { schemas: strict(schemas) },
      });
      for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? []) {
        const suffix = group === '' ? `-${version}` : `-${group.split('.')[0]}-${version}`;
        await writeFile(join(folder, `${kind.toLowerCase()}${suffix}.json`), text);
      }
    }
  }
}

interface Schema {
  type?: string;
  properties?: object;
  additionalProperties?: unknown;
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

function strict(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [
      name,
      schema.properties !== undefined && schema.additionalProperties === undefined
        ? { ...schema, additionalProperties: false }
        : schema,
    ]),
  );
}
