import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import type { ApiStatus } from '@toolhive/kubernetes/status';
import { resources, exampleOf } from '@toolhive/operator/crds';
import type { Resource } from '@toolhive/operator/resource';
import { specsOf } from '@toolhive/operator/testing/spec-values';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeOperator, manifest, server } from './operator-tests.ts';
import { passesOf, startOperator } from './running-operator.ts';

const apiVersion = 'toolhive.stacklok.dev/v1alpha1';
// A long run in search of more: FUZZ_RUNS=100 FUZZ_SEED=1
const fuzzRuns = Number(process.env['FUZZ_RUNS'] ?? 12);
const fuzzSeed = Number(process.env['FUZZ_SEED'] ?? 20_261_125);

interface CustomObject extends KubernetesObject {
  spec: object;
  status?: { observedGeneration?: number; conditions?: { type: string }[] };
}
interface ServiceAccount extends KubernetesObject {
  imagePullSecrets: object[];
}
interface Workload extends KubernetesObject {
  metadata: KubernetesObject['metadata'] & {
    managedFields?: {
      manager: string;
      subresource?: string;
      fieldsV1?: { 'f:spec'?: { 'f:replicas'?: object } };
    }[];
  };
  spec: { replicas: number };
}

const anyDeployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'any' },
  spec: {
    selector: { matchLabels: { app: 'any' } },
    template: {
      metadata: { labels: { app: 'any' } },
      spec: { containers: [{ name: 'any', image: 'example/any:1' }] },
    },
  },
};
/** Adds a container to all pod templates in namespaces with a label, as service meshes do. */
const injection = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'inject' },
    spec: {
      matchConstraints: {
        namespaceSelector: { matchLabels: { inject: 'sidecar' } },
        resourceRules: [
          {
            apiGroups: ['apps'],
            apiVersions: ['v1'],
            resources: ['deployments', 'statefulsets'],
            operations: ['CREATE', 'UPDATE'],
          },
        ],
      },
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: {
            expression:
              'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "sidecar", image: "example/sidecar:1"}]}}}}',
          },
        },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name: 'inject' },
    spec: { policyName: 'inject' },
  },
]
  .map((object) => JSON.stringify(object))
  .join('\n---\n');

describeOperator(
  'custom resources',
  (world) => {
    const { apply, condition, field, remove, waitFor } = world;
    const checksum = (namespace: string, name: string): Promise<string> =>
      field(
        namespace,
        `deployment/${name}`,
        '{.spec.template.metadata.annotations.toolhive\\.stacklok\\.dev/runconfig-checksum}',
      );

    test.each(resources.map((resource) => [resource.kind, resource] as const))(
      'the example of %s is accepted',
      async (_kind, resource) => {
        const namespace = await world.cluster.namespace();

        const created = world.cluster.kubectl(
          ['apply', '-n', namespace, '--dry-run=server', '-f', '-'],
          exampleOf(resource),
        );

        await expect(created).resolves.toMatch(/created \(server dry run\)$/);
      },
    );

    test.each([
      ['a missing port', server('bad', { transport: 'sse' }), /targetPort is required unless/],
      [
        'a missing block',
        server('bad', { oidcConfig: { type: 'inline' } }),
        /oidcConfig\.inline is required/,
      ],
      ['a long name', server('a'.repeat(60)), /at most 46 characters/],
      [
        'a branch and a tag',
        manifest('MCPRegistry', 'bad', {
          source: { type: 'git', git: { repository: 'https://git.example.com/a', branch: 'a', tag: 'b' } },
        }),
        /one of branch, tag, and commit/,
      ],
      [
        'no token exchange',
        manifest('MCPExternalAuthConfig', 'bad', { type: 'tokenExchange' }),
        /tokenExchange is required/,
      ],
      [
        'the authentication of a later version',
        server('bad', { oidcConfigRef: { name: 'id', audience: 'bad' } }),
        /spec\.oidcConfigRef is not supported: set spec\.oidcConfig/,
      ],
      [
        'a nested field of a later version',
        server('bad', {
          authzConfig: {
            type: 'inline',
            inline: { policies: ['permit(principal, action, resource);'] },
            groupClaimName: 'groups',
          },
        }),
        /spec\.authzConfig\.groupClaimName is not supported/,
      ],
      ['a port of a later version', server('bad', { proxyPort: 8080 }), /set spec\.port/],
    ])('the API server refuses %s with a clear message', async (_what, text, message) => {
      const namespace = await world.cluster.namespace();

      await expect(apply(namespace, text)).rejects.toThrow(message);
    });

    test('a stdio server gets a role for its pod only', async () => {
      const namespace = await world.cluster.namespace();

      await apply(namespace, server('talk'));
      await waitFor(namespace, 'mcpserver/talk');

      expect(await field(namespace, 'role/talk-proxy-runner', '{.rules[*].resourceNames}')).toBe(
        '["talk-0"] ["talk-0"]',
      );
      expect(
        await field(namespace, 'deployment/talk', '{.spec.template.spec.automountServiceAccountToken}'),
      ).toBe('true');
      expect(await field(namespace, 'statefulset/talk', '{.spec.template.spec.containers[0].stdin}')).toBe(
        'true',
      );
      expect(await field(namespace, 'networkpolicy/talk-server', '{.spec.egress}{.spec.ingress}')).toBe('');
    });

    test('host rules lead through the gateway in the proxy pod', async () => {
      const namespace = await world.cluster.namespace();
      const profile = JSON.stringify({ network: { outbound: { allow_host: ['api.example.com'] } } });

      await apply(
        namespace,
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'profiles' },
          data: { web: profile },
        }),
        server('web', { permissionProfile: { type: 'configmap', name: 'profiles', key: 'web' } }),
      );
      await waitFor(namespace, 'mcpserver/web');

      const address = await field(namespace, 'service/mcp-web-egress', '{.spec.clusterIP}');
      const env = `{.spec.template.spec.containers[0].env[?(@.name=='HTTPS_PROXY')].value}`;
      expect(await field(namespace, 'statefulset/web', env)).toBe(`http://${address}:3128`);
      expect(await field(namespace, 'networkpolicy/web-server', '{.spec.egress[*].ports[*].port}')).toBe(
        '3128',
      );
    });

    test('a bad pod template is a condition, and the server recovers with the next spec', async () => {
      const namespace = await world.cluster.namespace();

      await apply(namespace, server('odd', { podTemplateSpec: { spec: { containers: 'none' } } }));
      await expect.poll(() => condition(namespace, 'mcpserver/odd', 'Ready')).toBe('InvalidPodTemplateSpec');
      await apply(namespace, server('odd', { podTemplateSpec: { spec: { priorityClassName: '' } } }));

      await waitFor(namespace, 'mcpserver/odd');
      const events = await field(namespace, 'events', '{.items[*].reason}');
      expect(events.split(' ').filter((reason) => reason === 'InvalidPodTemplateSpec')).toHaveLength(1);
    });

    test('policies with which the proxy cannot start are a condition, and no proxy is created', async () => {
      const namespace = await world.cluster.namespace();
      const withPolicy = (policy: string): string =>
        server('guarded', { authzConfig: { type: 'inline', inline: { policies: [policy] } } });

      await apply(namespace, withPolicy('permit everything'));
      await expect.poll(() => condition(namespace, 'mcpserver/guarded', 'Ready')).toBe('InvalidSpec');
      expect(await field(namespace, 'mcpserver/guarded', '{.status.message}')).toContain(
        'the proxy cannot start with this spec',
      );
      expect((await world.cluster.client.list(types.deployment, { namespace })).items).toEqual([]);

      await apply(namespace, withPolicy('permit(principal, action, resource);'));
      await waitFor(namespace, 'mcpserver/guarded');
    });

    test('foreign changes stay: replicas, annotations, and restarts', async () => {
      const namespace = await world.cluster.namespace();
      await apply(namespace, server('kept'));
      await waitFor(namespace, 'mcpserver/kept');

      await world.cluster.kubectl(['scale', '-n', namespace, 'deployment/kept', '--replicas=2']);
      await world.cluster.kubectl(['rollout', 'restart', '-n', namespace, 'deployment/kept']);
      await world.cluster.kubectl(['annotate', '-n', namespace, 'deployment/kept', 'team=red']);
      await world.cluster.kubectl([
        'set',
        'env',
        '-n',
        namespace,
        'deployment/kept',
        'EXTRA=1',
        'HOME=/root',
      ]);
      await apply(namespace, server('kept', { args: ['--verbose'] }));
      await expect
        .poll(() => field(namespace, 'statefulset/kept', '{.spec.template.spec.containers[0].args[0]}'))
        .toBe('--verbose');

      expect(await field(namespace, 'deployment/kept', '{.spec.replicas} {.metadata.annotations.team}')).toBe(
        '2 red',
      );
      const restarted = '{.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}';
      expect(await field(namespace, 'deployment/kept', restarted)).not.toBe('');
      // The containers belong to the operator.
      const variable = (name: string): Promise<string> =>
        field(
          namespace,
          'deployment/kept',
          `{.spec.template.spec.containers[0].env[?(@.name=='${name}')].value}`,
        );
      await expect.poll(() => variable('HOME')).toBe('/tmp');
      await expect.poll(() => variable('EXTRA')).toBe('');
    });

    test('an injected container and the replicas of an autoscaler stay, and nothing is written twice', async () => {
      const namespace = await world.cluster.namespace({
        inject: 'sidecar',
        'pod-security.kubernetes.io/enforce': 'baseline',
      });
      await apply(namespace, injection);
      const { client } = world.cluster;
      const probe = { ...anyDeployment, metadata: { ...anyDeployment.metadata, namespace } };
      const containers = '{.spec.template.spec.containers[*].name}';
      await expect
        .poll(async () => {
          const { spec } = await client.create(types.deployment, probe, undefined, { isTrial: true });
          return spec.template.spec.containers.map(({ name }) => name);
        })
        .toEqual(['any', 'sidecar']);
      const count = (await world.cluster.writes()).length;
      const http = { transport: 'streamable-http', targetPort: 9000 };
      await apply(namespace, server('injected', http));
      await waitFor(namespace, 'mcpserver/injected');

      const name = { name: 'injected', namespace };
      await world.cluster.client.apply<Workload>(
        types.deployment,
        { apiVersion: 'apps/v1', kind: 'Deployment', metadata: name, spec: { replicas: 3 } },
        { fieldManager: 'autoscaler' },
      );
      const account = { ...name, name: 'injected-sa' };
      await world.cluster.client.apply<ServiceAccount>(
        types.serviceAccount,
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account, imagePullSecrets: [{ name: 'pull' }] },
        { fieldManager: 'platform' },
      );
      await apply(namespace, server('injected', { ...http, audit: { enabled: true } }));
      const observed = '{.status.observedGeneration} {.status.readyReplicas} {.status.updatedReplicas}';
      await expect.poll(() => field(namespace, 'deployment/injected', observed)).toMatch(/^3 3 3$/);
      await waitFor(namespace, 'mcpserver/injected');
      await using other = await startOperator(world.cluster, { env: { WATCH_NAMESPACE: namespace } });
      await other.says('settled');

      expect(await field(namespace, 'deployment/injected', `{.spec.replicas} ${containers}`)).toBe(
        '3 toolhive sidecar',
      );
      expect(await field(namespace, 'statefulset/injected', containers)).toBe('mcp sidecar');
      const { metadata } = await world.cluster.client.get<Workload>(types.deployment, name);
      const owners = metadata.managedFields
        ?.filter(
          ({ fieldsV1, subresource }) =>
            fieldsV1?.['f:spec']?.['f:replicas'] !== undefined && subresource === undefined,
        )
        .map(({ manager }) => manager);
      expect(owners).toEqual(['autoscaler']);
      expect(await field(namespace, 'serviceaccount/injected-sa', '{.imagePullSecrets[*].name}')).toBe(
        'pull',
      );
      const writes = (await world.cluster.writes())
        .slice(count)
        .filter((write) => write.namespace === namespace && write.userAgent === 'toolhive-operator')
        .map(({ resource, name: child }) => `${resource}/${child}`);
      // Created, and the Deployment once more for the new spec with the run config.
      expect(writes.filter((write) => write === 'deployments/injected')).toHaveLength(2);
      expect(writes.filter((write) => write === 'statefulsets/injected')).toHaveLength(1);
      expect(writes.filter((write) => write === 'serviceaccounts/injected-sa')).toHaveLength(1);
    });

    test('any spec leads to a settled object or to a condition', async () => {
      const namespace = await world.cluster.namespace();
      const { client } = world.cluster;
      const there = { name: 'there' };
      await apply(
        namespace,
        JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: there, data: { key: '{}' } }),
        JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: there, stringData: { key: 'hidden' } }),
        manifest('MCPGroup', 'there', {}),
        manifest('MCPToolConfig', 'there', { toolsFilter: ['one'] }),
      );
      const lines = world.operator.lines.length;
      const typeOf = ({ kind, plural }: Resource): ResourceType => ({ apiVersion, kind, plural });
      let created = 0;
      const refusals: number[] = [];
      for (const resource of resources) {
        for (const [index, spec] of fc
          .sample(specsOf(resource), { numRuns: fuzzRuns, seed: fuzzSeed })
          .entries()) {
          const metadata = { name: `any-${index}`, namespace };
          const object = { apiVersion, kind: resource.kind, metadata, spec };
          await client.create<CustomObject>(typeOf(resource), object).then(
            () => (created += 1),
            (error: unknown) => refusals.push((error as ApiStatus).code),
          );
        }
      }

      const unseen = async (): Promise<string[]> => {
        const lists = resources.map((resource) => client.list<CustomObject>(typeOf(resource), { namespace }));
        return (await Promise.all(lists))
          .flatMap(({ items }) => items)
          .filter(({ metadata, status }) => {
            const ready = status?.conditions?.find(({ type }) => type === 'Ready');
            return status?.observedGeneration !== metadata.generation || ready === undefined;
          })
          .map(({ kind, metadata, spec }) => `${kind} ${metadata.name} ${JSON.stringify(spec)}`);
      };
      await expect.poll(unseen, { timeout: 120_000 }).toEqual([]);

      expect(refusals.filter((code) => code !== 400 && code !== 422)).toEqual([]);
      expect(created).toBeGreaterThan((resources.length * fuzzRuns) / 2);
      const failed = world.operator.lines.slice(lines).filter((line) => line.includes('pass failed'));
      expect(failed.filter((line) => !line.includes('"code":409'))).toEqual([]);
    });

    test('a new member of a large group leads to no passes over the others', async () => {
      const namespace = await world.cluster.namespace();
      // Without the tool configuration, members have a status and no children.
      const member = (index: number): string =>
        server(`member-${index}`, { groupRef: 'team', toolConfigRef: { name: 'missing' } });
      await apply(
        namespace,
        manifest('MCPGroup', 'team', {}),
        ...Array.from({ length: 60 }, (_, at) => member(at)),
      );
      const count = (): Promise<string> => field(namespace, 'mcpgroup/team', '{.status.serverCount}');
      await expect.poll(count).toBe('60');
      await expect
        .poll(() => field(namespace, 'mcpservers', `{.items[?(@.status.phase!='Failed')].metadata.name}`))
        .toBe('');
      // Each status that was written leads to a last pass over its member.
      let before = -1;
      const hasSettled = async (): Promise<boolean> => {
        const last = before;
        before = await passesOf(world.operator, 'mcpserver');
        return before === last;
      };
      await expect.poll(hasSettled, { interval: 1_500 }).toBe(true);

      await apply(namespace, member(60));
      await expect.poll(count).toBe('61');
      await expect
        .poll(() => condition(namespace, 'mcpserver/member-60', 'GroupRefValidated'))
        .toBe('GroupRefIsValid');

      expect((await passesOf(world.operator, 'mcpserver')) - before).toBeLessThan(30);
      await remove(namespace, 'mcpgroup/team');
      await expect
        .poll(() => condition(namespace, 'mcpserver/member-7', 'GroupRefValidated'))
        .toBe('GroupRefNotFound');
    });

    test('a tool configuration changes its servers once and cannot be deleted while one refers to it', async () => {
      const namespace = await world.cluster.namespace();
      await apply(namespace, server('tools', { toolConfigRef: { name: 'filter' } }));
      await expect.poll(() => condition(namespace, 'mcpserver/tools', 'Ready')).toBe('MCPToolConfigNotFound');
      await apply(namespace, manifest('MCPToolConfig', 'filter', { toolsFilter: ['one'] }));
      await waitFor(namespace, 'mcpserver/tools');
      const before = await checksum(namespace, 'tools');

      await apply(namespace, manifest('MCPToolConfig', 'filter', { toolsFilter: ['two'] }));
      await expect.poll(() => checksum(namespace, 'tools')).not.toBe(before);
      await remove(namespace, 'mcptoolconfig/filter');
      await expect.poll(() => condition(namespace, 'mcptoolconfig/filter', 'Ready')).toBe('DeletionBlocked');
      expect(await field(namespace, 'mcptoolconfig/filter', '{.status.referencingServers[*]}')).toBe('tools');
      await remove(namespace, 'mcpserver/tools');

      await expect.poll(() => field(namespace, 'mcptoolconfig/filter', '{.metadata.name}')).toBe('');
    });

    test('a token exchange needs its secret, which never appears in another object', async () => {
      const namespace = await world.cluster.namespace();
      const spec = {
        type: 'tokenExchange',
        tokenExchange: {
          tokenUrl: 'https://id.example.com/token',
          clientId: 'toolhive',
          clientSecretRef: { name: 'exchange', key: 'value' },
          audience: 'server',
        },
      };
      await apply(namespace, manifest('MCPExternalAuthConfig', 'exchange', spec));
      await expect
        .poll(() => condition(namespace, 'mcpexternalauthconfig/exchange', 'Ready'))
        .toBe('SecretNotFound');
      await apply(
        namespace,
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: 'exchange' },
          stringData: { value: 'hunter2-value' },
        }),
      );
      const oidcConfig = { type: 'inline', inline: { issuer: 'https://id.example.com', audience: 'tools' } };
      await apply(
        namespace,
        server('exchanging', {
          transport: 'streamable-http',
          targetPort: 9000,
          oidcConfig,
          externalAuthConfigRef: { name: 'exchange' },
        }),
      );
      const remoteURL = 'https://mcp.example.com/mcp';
      await apply(
        namespace,
        manifest('MCPRemoteProxy', 'far', {
          remoteURL,
          oidcConfig,
          externalAuthConfigRef: { name: 'exchange' },
        }),
      );
      await waitFor(namespace, 'mcpserver/exchanging');
      await waitFor(namespace, 'mcpremoteproxy/far');
      const runConfig = await field(namespace, 'configmap/far-runconfig', '{.data.runconfig\\.json}');
      expect(JSON.parse(runConfig)).toMatchObject({
        remote_url: remoteURL,
        token_exchange_config: { token_url: 'https://id.example.com/token', audience: 'server' },
      });
      expect(
        await field(namespace, 'mcpexternalauthconfig/exchange', '{.status.referencingServers[*]}'),
      ).toBe('exchanging far');
      for (const name of ['exchanging', 'far']) {
        const env = `{.spec.template.spec.containers[0].env[?(@.name=='TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET')]}`;
        expect(JSON.parse(await field(namespace, `deployment/${name}`, env))).toMatchObject({
          valueFrom: { secretKeyRef: { name: 'exchange', key: 'value' } },
        });
      }

      const all = await world.cluster.kubectl([
        'get',
        '-n',
        namespace,
        'mcpservers,mcpexternalauthconfigs,configmaps,deployments,statefulsets,events',
        '-o',
        'yaml',
      ]);
      const encoded = Buffer.from('hunter2-value').toString('base64');
      expect(
        [all, ...world.operator.lines].filter((text) => text.includes('hunter2') || text.includes(encoded)),
      ).toEqual([]);
      expect(all).toContain('TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET');
    });

    test('a group counts its members, and its deletion leaves them running', async () => {
      const namespace = await world.cluster.namespace();
      await apply(namespace, manifest('MCPGroup', 'team', {}));
      await apply(namespace, server('b', { groupRef: 'team' }));
      await apply(namespace, server('a', { groupRef: 'team' }));
      await expect.poll(() => field(namespace, 'mcpgroup/team', '{.status.servers[*]}')).toBe('a b');

      await remove(namespace, 'mcpgroup/team');

      await expect
        .poll(() => condition(namespace, 'mcpserver/a', 'GroupRefValidated'))
        .toBe('GroupRefNotFound');
      await waitFor(namespace, 'mcpserver/a');
    });

    test('a remote proxy has no server pod, and does not take the name of a server', async () => {
      const namespace = await world.cluster.namespace();
      const oidcConfig = { type: 'inline', inline: { issuer: 'https://id.example.com', audience: 'a' } };
      const spec = { remoteURL: 'https://mcp.example.com/mcp', oidcConfig };
      await apply(namespace, manifest('MCPRemoteProxy', 'far', spec));
      await waitFor(namespace, 'mcpremoteproxy/far');
      expect(await field(namespace, 'statefulset/far', '{.metadata.name}')).toBe('');

      await apply(namespace, server('far'));

      await expect.poll(() => condition(namespace, 'mcpserver/far', 'Ready')).toBe('NameClash');
      await waitFor(namespace, 'mcpremoteproxy/far');
    });

    test('a registry follows its ConfigMap, keeps old data when it breaks, and restricts images', async () => {
      const namespace = await world.cluster.namespace();
      const registry = (image: string): string =>
        JSON.stringify({
          version: '1.0.0',
          last_updated: '2026-01-01T00:00:00Z',
          servers: {
            one: {
              description: 'A server',
              image,
              tier: 'Community',
              status: 'Active',
              transport: 'stdio',
              tools: ['a'],
            },
          },
        });
      const source = (text: string): string =>
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'source' },
          data: { 'registry.json': text },
        });
      await apply(namespace, source(registry('example/server:1')));
      await apply(
        namespace,
        manifest('MCPRegistry', 'company', {
          source: { type: 'configmap', configmap: { name: 'source' } },
          enforceServers: true,
        }),
      );
      await waitFor(namespace, 'mcpregistry/company');
      expect(await field(namespace, 'mcpregistry/company', '{.status.syncStatus.serverCount}')).toBe('1');
      const image = (): Promise<string> =>
        field(namespace, 'deployment/company-api', '{.spec.template.spec.containers[0].image}');
      const usual = await image();
      await world.cluster.kubectl([
        'set',
        'image',
        '-n',
        namespace,
        'deployment/company-api',
        'registry-api=other:1',
      ]);
      await expect.poll(image).toBe(usual);

      await apply(namespace, server('allowed'));
      await apply(namespace, server('foreign', { image: 'other/server:1' }));
      await waitFor(namespace, 'mcpserver/allowed');
      await expect
        .poll(() => condition(namespace, 'mcpserver/foreign', 'ImageValidated'))
        .toBe('ImageValidationFailed');
      expect(await field(namespace, 'deployment/foreign', '{.metadata.name}')).toBe('');
      await apply(namespace, source('{ broken'));

      await expect
        .poll(() => condition(namespace, 'mcpregistry/company', 'DataValid'))
        .toBe('ValidationFailed');
      expect(await field(namespace, 'mcpregistry/company', '{.status.phase}')).toBe('Failed');
      const stored = await field(namespace, 'configmap/company-registry-storage', '{.data.registry\\.json}');
      expect(stored).toContain('example/server:1');
      await apply(namespace, source(registry('example/server:1')));
      await waitFor(namespace, 'mcpregistry/company');
    });

    test('another replica takes over when the leader is killed, and ends within 10 seconds of SIGTERM', async () => {
      const namespace = await world.cluster.namespace();
      await using second = await startOperator(world.cluster, {
        args: ['--leader-elect'],
        env: { POD_NAME: 'second' },
      });
      await world.operator.kill();
      await second.says('leading');

      await apply(namespace, server('after'));
      await waitFor(namespace, 'mcpserver/after');

      expect(await second.stop()).toBe(0);
      world.operator = await startOperator(world.cluster, {
        args: ['--leader-elect'],
        env: { POD_NAME: 'third' },
      });
      await world.operator.says('leading');
    });
  },
  { args: ['--leader-elect'] },
);
