import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { expect, test } from 'vitest';
import { typeOf } from './object-kinds.ts';
import { describeOperator, manifest, server } from './operator-tests.ts';
import { passesOf } from './running-operator.ts';

const http = { transport: 'streamable-http', targetPort: 9000 };

describeOperator('conditions of other clusters', (world) => {
  const { apply, annotate, remove, waitFor, field, condition } = world;
  const kubectl = (...words: string[]): Promise<string> => world.cluster.kubectl(words);
  const message = (namespace: string, object: string): Promise<string> =>
    field(namespace, object, '{.status.conditions[?(@.type=="Ready")].message}');

  /** Waits for another pass over a server, and returns how many writes followed it. */
  async function writesOfNextPass(namespace: string, name: string): Promise<number> {
    const count = async (): Promise<number> =>
      (await world.cluster.writes()).filter(
        (write) => write.namespace === namespace && write.userAgent === 'toolhive-operator',
      ).length;
    const [before, passes] = [await count(), await passesOf(world.operator, 'mcpserver')];
    await annotate(namespace, `mcpserver/${name}`, { 'example.com/pass': String(passes) });
    await expect.poll(() => passesOf(world.operator, 'mcpserver')).toBeGreaterThan(passes);
    return (await count()) - before;
  }

  test('a quota that is used up becomes a condition with its message, and its end is noticed', async () => {
    const namespace = await world.cluster.namespace();
    const quota = {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'small' },
      spec: { hard: { services: '0' } },
    };
    await apply(namespace, JSON.stringify(quota), server('web', http));

    await expect.poll(() => message(namespace, 'mcpserver/web')).toMatch(/exceeded quota: small/);

    await remove(namespace, 'resourcequota/small');
    await annotate(namespace, 'mcpserver/web', { 'example.com/again': '1' });
    await waitFor(namespace, 'mcpserver/web');
  });

  test('a policy that mutates generated objects is not fought', async () => {
    const namespace = await world.cluster.namespace();
    const expression =
      'Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {"mutated": "yes"}}, spec: Object.spec.template.spec{priority: 0, containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name, image: "mirror.example.com/" + c.image.replace("mirror.example.com/", ""), imagePullPolicy: "Always"})}}}}';
    const policy = (kind: string, spec: object): string =>
      JSON.stringify({
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind,
        metadata: { name: `mirror-${namespace}` },
        spec,
      });
    await apply(
      namespace,
      policy('MutatingAdmissionPolicy', {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ['apps'],
              apiVersions: ['v1'],
              operations: ['CREATE', 'UPDATE'],
              resources: ['deployments', 'statefulsets'],
            },
          ],
        },
        reinvocationPolicy: 'IfNeeded',
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
      }),
      policy('MutatingAdmissionPolicyBinding', {
        policyName: `mirror-${namespace}`,
        matchResources: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        },
      }),
    );
    const probe = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'probe', namespace },
      spec: {
        selector: { matchLabels: { app: 'probe' } },
        template: {
          metadata: { labels: { app: 'probe' } },
          spec: { containers: [{ name: 'probe', image: 'probe' }] },
        },
      },
    };
    const image = async (): Promise<string | undefined> => {
      const trial = { isTrial: true };
      const { spec } = await world.cluster.client.create(types.deployment, probe, undefined, trial);
      return spec.template.spec.containers[0]?.image;
    };
    await expect.poll(image).toBe('mirror.example.com/probe');

    await apply(namespace, server('web', http));
    await waitFor(namespace, 'mcpserver/web');

    expect(await field(namespace, 'statefulset/web', '{.spec.template.spec.containers[0].image}')).toBe(
      'mirror.example.com/example/server:1',
    );
    expect(await writesOfNextPass(namespace, 'web')).toBe(0);
    await apply(namespace, server('web', { ...http, image: 'example/server:2' }));
    await expect
      .poll(() => field(namespace, 'statefulset/web', '{.spec.template.spec.containers[0].image}'))
      .toBe('mirror.example.com/example/server:2');
    await waitFor(namespace, 'mcpserver/web');
    expect(
      world.operator.lines.filter((line) => line.includes(namespace) && line.includes('reverted a change')),
    ).toEqual([]);
  });

  test('a namespace that is deleted during passes goes, and other namespaces go on', async () => {
    const [ending, other] = [await world.cluster.namespace(), await world.cluster.namespace()];
    const many = Array.from({ length: 20 }, (_, index) => server(`web-${index}`, http));
    await apply(ending, ...many);
    await kubectl('delete', 'namespace', ending, '--wait=false');
    await apply(other, server('web', http));

    await waitFor(other, 'mcpserver/web');
    await kubectl('wait', '--for=delete', `namespace/${ending}`, '--timeout=90s');
    const passes = await passesOf(world.operator, 'mcpserver');
    await writesOfNextPass(other, 'web');

    // Hundreds, if the passes of the deleted namespace went on. A slow machine needs a few more than usual.
    expect((await passesOf(world.operator, 'mcpserver')) - passes).toBeLessThan(100);
  });

  test('other programs can own the same fields of a custom resource, and label generated objects', async () => {
    const namespace = await world.cluster.namespace();
    const spec = { ...http, env: [{ name: 'LEVEL', value: '1' }] };
    const as = (manager: string, content: object): Promise<KubernetesObject> => {
      const { metadata, ...object } = JSON.parse(server('web', content)) as KubernetesObject;
      const placed = { ...object, metadata: { ...metadata, namespace } };
      return world.cluster.client.apply(typeOf(placed)!, placed, { fieldManager: manager, force: true });
    };
    await as('argocd-controller', spec);
    await waitFor(namespace, 'mcpserver/web');
    await annotate(namespace, 'deployment/web', {
      'argocd.argoproj.io/tracking-id': 'app:apps/Deployment:web',
    });
    await kubectl('label', '-n', namespace, 'statefulset/web', 'app.kubernetes.io/part-of=app');

    await as('kubectl-edit', { ...spec, env: [{ name: 'LEVEL', value: '2' }] });
    await as('argocd-controller', { ...spec, env: [{ name: 'LEVEL', value: '1' }] });
    await as('kubectl-edit', { ...spec, env: [{ name: 'LEVEL', value: '3' }] });

    const level = '{.spec.template.spec.containers[0].env[?(@.name=="LEVEL")].value}';
    await expect.poll(() => field(namespace, 'statefulset/web', level)).toBe('3');
    await waitFor(namespace, 'mcpserver/web');
    expect(
      await field(namespace, 'deployment/web', '{.metadata.annotations.argocd\\.argoproj\\.io/tracking-id}'),
    ).toBe('app:apps/Deployment:web');
    expect(
      await field(namespace, 'statefulset/web', '{.metadata.labels.app\\.kubernetes\\.io/part-of}'),
    ).toBe('app');
  });

  test('annotations of 250 kB stay on the resource', async () => {
    const namespace = await world.cluster.namespace();
    const object = JSON.parse(server('web', http)) as { metadata: object };
    const annotations = { 'example.com/note': 'x'.repeat(250_000) };
    const large = JSON.stringify({ ...object, metadata: { ...object.metadata, annotations } });

    await world.cluster.kubectl(['apply', '-n', namespace, '--server-side', '-f', '-'], large);
    await waitFor(namespace, 'mcpserver/web');

    const children = await kubectl(
      'get',
      'deployment,statefulset,service,configmap',
      '-n',
      namespace,
      '-o',
      'json',
    );
    expect(children).not.toContain('xxxxxxxxxx');
    expect(await writesOfNextPass(namespace, 'web')).toBe(0);
  });

  test('a spec that is too large for its generated objects is named, and the next one works', async () => {
    const namespace = await world.cluster.namespace();
    const env = Array.from({ length: 45 }, (_, index) => ({
      name: `VALUE_${index}`,
      value: 'x'.repeat(24_000),
    }));
    await world.cluster.kubectl(
      ['apply', '-n', namespace, '--server-side', '-f', '-'],
      server('web', { ...http, env }),
    );

    await expect
      .poll(() => message(namespace, 'mcpserver/web'))
      .toMatch(/too (long|large)|limit|must have at most/i);

    await world.cluster.kubectl(['apply', '-n', namespace, '--server-side', '-f', '-'], server('web', http));
    await waitFor(namespace, 'mcpserver/web');
  });

  test('a definition without a field of a newer status does not stop the status', async () => {
    const namespace = await world.cluster.namespace();
    const crd = 'crd/mcpservers.toolhive.stacklok.dev';
    const at = '/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/';
    await kubectl('patch', crd, '--type=json', '-p', JSON.stringify([{ op: 'remove', path: `${at}url` }]));
    try {
      await expect.poll(() => kubectl('explain', 'mcpserver.status')).not.toMatch(/^ +url\b/m);

      await apply(namespace, server('web', http));
      await waitFor(namespace, 'mcpserver/web');

      expect(await condition(namespace, 'mcpserver/web', 'Ready')).toBe('DeploymentReady');
      expect(
        world.operator.lines.some((line) =>
          line.includes('the installed CRD of MCPServer has no status field url'),
        ),
      ).toBe(true);
    } finally {
      await world.cluster.define();
    }
  });

  test('a second served version of a kind does not matter', async () => {
    const namespace = await world.cluster.namespace();
    const crd = 'crd/mcpservers.toolhive.stacklok.dev';
    const { spec } = JSON.parse(await kubectl('get', crd, '-o', 'json')) as { spec: { versions: object[] } };
    const versions = [...spec.versions, { ...spec.versions[0], name: 'v1beta1', storage: false }];
    await kubectl('patch', crd, '--type=merge', '-p', JSON.stringify({ spec: { versions } }));
    try {
      const later = (): Promise<string> =>
        world.cluster
          .kubectl(['apply', '-n', namespace, '-f', '-'], server('web', http).replace('v1alpha1', 'v1beta1'))
          .catch(() => '');
      await expect.poll(later).not.toBe('');

      await waitFor(namespace, 'mcpservers.v1alpha1.toolhive.stacklok.dev/web');

      expect(await field(namespace, 'deployment/web', '{.metadata.ownerReferences[0].name}')).toBe('web');
      expect(await writesOfNextPass(namespace, 'web')).toBe(0);
    } finally {
      await kubectl(
        'patch',
        crd,
        '--type=merge',
        '-p',
        JSON.stringify({ spec: { versions: spec.versions } }),
      );
    }
  });

  test('servers go on while the definition of another kind is missing, and its objects work when it is back', async () => {
    const namespace = await world.cluster.namespace();
    await kubectl('delete', 'crd', 'mcpregistries.toolhive.stacklok.dev');
    try {
      // Discovery changes with the definitions.
      await expect.poll(() => apply(namespace, server('web', http)).catch(() => '')).not.toBe('');
      await expect
        // With its version, because kubectl remembers those of an earlier test.
        .poll(() => condition(namespace, 'mcpservers.v1alpha1.toolhive.stacklok.dev/web', 'Ready'), {
          timeout: 60_000,
        })
        .toBe('DeploymentReady');
    } finally {
      await world.cluster.define();
    }
    const registry = { version: '1.0.0', last_updated: '2026-01-01T00:00:00Z', servers: {} };
    await apply(
      namespace,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'data' },
        data: { 'registry.json': JSON.stringify(registry) },
      }),
      manifest('MCPRegistry', 'company', { source: { type: 'configmap', configmap: { name: 'data' } } }),
    );

    await expect
      .poll(() => field(namespace, 'mcpregistry/company', '{.status.observedGeneration}'), {
        timeout: 60_000,
      })
      .toBe('1');
  });
});
