import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import type { DisposableTempDir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startControlPlane } from '@toolhive/operator/testing/control-plane';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { may } from './may.ts';
import { describeCluster } from './registered.ts';

const run = promisify(execFile);
const root = new URL('../..', import.meta.url).pathname;
const crdChart = join(root, 'deploy/charts/toolhive-operator-crds');
const operatorChart = join(root, 'deploy/charts/toolhive-operator');

/** The charts with their values. Nothing in them depends on the version of Kubernetes. */
const releases: Record<string, readonly [chart: string, ...words: string[]]> = {
  'custom-resource-definitions': [crdChart],
  'default-values': [operatorChart],
  'values-for-openshift': [operatorChart, '--values', join(operatorChart, 'values-openshift.yaml')],
  'one-namespace': [
    operatorChart,
    '--set',
    'operator.rbac.scope=namespace',
    '--set',
    'operator.rbac.allowedNamespaces={default}',
  ],
  'optional-objects': [operatorChart, '--set', 'operator.podDisruptionBudget.enabled=true'],
};

describeCluster('the Helm charts', () => {
  let cluster: ControlPlane;
  let tools: string;
  /** The manifests of the releases, by their names. */
  const rendered: Record<string, string> = {};
  beforeAll(async () => {
    const built = await run(join(root, 'packages/operator/control-plane/chart-tools/chart-tools.sh'), [], {
      timeout: 15 * 60_000,
    });
    tools = built.stdout.trim();
    cluster = await startControlPlane();
    for (const [name, [chart, ...words]] of Object.entries(releases))
      rendered[name] = await helm('template', 'release', chart, '--namespace', 'default', ...words);
  }, 20 * 60_000);
  afterAll(() => cluster[Symbol.asyncDispose]());

  const helm = async (...words: string[]): Promise<string> =>
    (await run(join(tools, 'helm'), words, { env: { ...process.env, ...cluster.env } })).stdout;

  test.each([crdChart, operatorChart])('pass helm lint: %s', async (chart) => {
    expect(await helm('lint', '--strict', chart)).toContain('0 chart(s) failed');
  });

  test.each([
    [crdChart, 6],
    [operatorChart, 9],
  ])('pass their unit tests: %s', async (chart, least) => {
    const { stdout } = await run(join(tools, 'helm-unittest'), ['--color=false', chart]);

    const [, passed] = /Tests: +(\d+) passed, \1 total/.exec(stdout) ?? [];
    expect(Number(passed)).toBeGreaterThanOrEqual(least);
  });

  test.each([crdChart, operatorChart])('refuse unknown values: %s', async (chart) => {
    const rendered = helm('template', 'release', chart, '--set', 'unknown=1');

    await expect(rendered).rejects.toThrow(/additional properties 'unknown' not allowed/);
  });

  /** Runs kubeconform on manifests, whose names are in its output, and returns the output and the exit code. */
  async function conform(
    schemas: string,
    manifests: Record<string, string>,
  ): Promise<{ code: number | undefined; stdout: string }> {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-charts-'));
    for (const [name, text] of Object.entries(manifests))
      await writeFile(join(folder.path, `${name}.yaml`), text);
    const location = join(schemas, '{{ .ResourceKind }}{{ .KindSuffix }}.json');
    const words = ['-strict', '-summary', '-schema-location', location, folder.path];
    try {
      const { stdout } = await run(join(tools, 'kubeconform'), words);
      return { code: 0, stdout };
    } catch (error) {
      const { code, stdout } = error as { code?: number; stdout: string };
      return { code, stdout };
    }
  }

  describe.each(['1.34', '1.35', '1.36', '1.37'])('with Kubernetes %s', (version) => {
    let folder: DisposableTempDir;
    beforeAll(async () => {
      folder = await mkdtempDisposable(join(tmpdir(), 'thv-charts-'));
      const documents =
        version === '1.37' ? documentsOf(cluster) : documentsIn(join(tools, `openapi-${version}`));
      const kinds = Object.values(rendered).flatMap((text) => text.match(/^kind: .+/gm) ?? []);
      await writeSchemas(documents, new Set(kinds.map((line) => line.slice('kind: '.length))), folder.path);
    });
    afterAll(() => folder[Symbol.asyncDispose]());

    test('are valid with all values', async () => {
      const { code, stdout } = await conform(folder.path, rendered);

      const amount = Object.values(rendered)
        .join('\n')
        .match(/^kind: /gm)?.length;
      const files = Object.keys(releases).length;
      const summary = `${amount} resources found in ${files} files - Valid: ${amount}, Invalid: 0, Errors: 0, Skipped: 0`;
      expect(stdout).toContain(summary);
      expect(code).toBe(0);
    });

    test('fail with an unknown field', async () => {
      const manifests = (rendered['default-values'] ?? '').replace('replicas:', 'replicaz:');

      const { code, stdout } = await conform(folder.path, { unknown: manifests });

      expect(code).toBe(1);
      expect(stdout).toContain("'replicaz'");
    });
  });

  test('have no findings of kube-score except those with a reason', async () => {
    const accepted = [
      'container-image-pull-policy', // images have a fixed version, and clusters without a registry load them in advance
      'container-security-context-user-group-id', // the contract says user 1000, and the image has no other files
      'deployment-replicas', // one operator works, and a second one only waits for the lease
    ];
    const manifests = rendered['default-values'] ?? '';
    await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-charts-'));
    const file = join(folder.path, 'manifests.yaml');
    await writeFile(file, manifests);

    const ignored = accepted.flatMap((check) => ['--ignore-test', check]);
    const { stdout } = await run(join(tools, 'kube-score'), [
      'score',
      '--output-format',
      'ci',
      ...ignored,
      file,
    ]);

    expect(stdout).toContain('[OK] toolhive-operator/default apps/v1/Deployment');
    expect(stdout).not.toMatch(/\[(?:CRITICAL|WARNING)\]/);
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
    await helm(
      'upgrade',
      '--install',
      `rules`,
      operatorChart,
      '--namespace',
      namespace,
      '--set',
      'operator.rbac.scope=namespace',
      '--set',
      `operator.rbac.allowedNamespaces={${namespace}}`,
      '--take-ownership',
    );
    const can = (verb: string, object: string): Promise<boolean> =>
      may(cluster.client, { namespace, name: 'toolhive-operator' }, { in: namespace, verb, object });

    expect(await can('list', 'mcpservers')).toBe(true);
    expect(await can('create', 'deployments')).toBe(true);
    // The keys for session IDs are in Secrets. Others are read by name.
    expect(await can('create', 'secrets')).toBe(true);
    for (const verb of ['list', 'watch', 'patch', 'delete']) expect(await can(verb, 'secrets')).toBe(false);
    expect(await can('create', 'pods')).toBe(false);
    expect(await can('create', 'clusterroles')).toBe(false);
    expect(await can('escalate', 'roles')).toBe(false);
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

interface ApiDocument {
  components?: { schemas?: Record<string, Schema> };
}

/** The OpenAPI documents of the running API server. */
async function* documentsOf({ client }: ControlPlane): AsyncGenerator<ApiDocument> {
  const { paths } = (await client.read('/openapi/v3')) as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  for (const { serverRelativeURL } of Object.values(paths)) {
    yield (await client.read(serverRelativeURL)) as ApiDocument;
  }
}

/** The OpenAPI documents of a Kubernetes release. */
async function* documentsIn(folder: string): AsyncGenerator<ApiDocument> {
  for (const file of await readdir(folder)) {
    yield JSON.parse(await readFile(join(folder, file), 'utf8')) as ApiDocument;
  }
}

/** Writes a schema for each of some kinds, as kubeconform needs them. */
async function writeSchemas(
  documents: AsyncIterable<ApiDocument>,
  kinds: ReadonlySet<string>,
  folder: string,
): Promise<void> {
  for await (const { components } of documents) {
    const schemas = components?.schemas ?? {};
    for (const [name, schema] of Object.entries(schemas)) {
      const found = schema['x-kubernetes-group-version-kind'] ?? [];
      if (found.length !== 1) continue; // lists of every kind, and options of requests
      for (const { group, version, kind } of found.filter((each) => kinds.has(each.kind))) {
        const suffix = group === '' ? `-${version}` : `-${group.split('.')[0]}-${version}`;
        const text = JSON.stringify({
          $ref: `#/components/schemas/${name}`,
          components: { schemas: strict(schemas) },
        });
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
