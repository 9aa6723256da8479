import { PermissionProfile } from '@toolhive/contract/permission-profile';
import { valuesOf } from '@toolhive/contract/testing/schema-values';
import type { JsonSchema } from '@toolhive/contract/testing/schema-values';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { schemaOf } from '../crds/crds.ts';
import { mcpExternalAuthConfig } from '../crds/mcp-external-auth-config.ts';
import { mcpRemoteProxy } from '../crds/mcp-remote-proxy.ts';
import { mcpServer } from '../crds/mcp-server.ts';
import { mcpToolConfig } from '../crds/mcp-tool-config.ts';
import type { Resource } from '../crds/resource.ts';
import { hashOf } from '../runtime/canonical.ts';
import type { Finding } from '../runtime/conditions.ts';
import { checkRunConfig } from '../templates/check.ts';
import { authorizationFile, childrenOf, egressService } from '../templates/objects.ts';
import type { Child } from '../templates/objects.ts';
import type { ExternalAuthSpec, ServerSpec } from '../templates/run-config.ts';
import { specsOf } from '../testing/spec-values.ts';
import { checkTemplate, planOf, specOf, stopOf } from './plan.ts';
import type { References } from './references.ts';

// A long run in search of more: FUZZ_RUNS=20000 FUZZ_SEED=1
const numRuns = Number(process.env['FUZZ_RUNS'] ?? 300);
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_125);

const settings = {
  runnerImage: 'runner',
  registryImage: 'registry',
  proxyHost: '0.0.0.0',
  imagePullSecrets: [],
};

/** The objects for a spec, or the condition that names the problem. Throws as a pass would that is repeated for ever. */
async function outcomeOf(
  { kind }: Resource,
  spec: unknown,
  references: References,
): Promise<{ children: Child[] } | { finding: Finding }> {
  const metadata = { name: 'echo', namespace: 'tools', uid: '1', generation: 1 };
  const object = { apiVersion: 'toolhive.stacklok.dev/v1alpha1', kind, metadata, spec };
  try {
    const complete = specOf(object);
    if (kind === 'MCPServer') checkTemplate(complete as ServerSpec);
    const { plan } = planOf({ settings, isOpenShift: false }, object, { spec: complete, references });
    await checkRunConfig(plan.runConfig, plan.authorization);
    const gateway = egressService(plan);
    if (gateway !== undefined) plan.egressAddress = '10.0.0.7';
    return { children: [...(gateway === undefined ? [] : [gateway]), ...childrenOf(plan)] };
  } catch (error) {
    const stop = stopOf(error);
    if (stop === undefined) throw error;
    return { finding: stop.finding };
  }
}

const profiles = valuesOf(
  z.toJSONSchema(PermissionProfile, { io: 'input', metadata: z.registry() }) as JsonSchema,
  {
    schemas: {},
    words: {
      mode: fc.constantFrom('', 'none', 'bridge', 'host'),
      read: fc.constantFrom('/data', '/data:/srv', 'data', '/a:/b:/c', '/../a'),
      write: fc.constantFrom('/data', '/data:/srv', '/a/..'),
      allow_host: fc.constantFrom('api.example.com', '*.example.com', '10.0.0.1', '::1', ''),
    },
    usual: ['network', 'outbound'],
  },
) as fc.Arbitrary<PermissionProfile>; // from its own schema

const referencesOf: fc.Arbitrary<References> = fc.record(
  {
    profile: profiles,
    secretVersions: fc.constantFrom('', 'login.12'),
    tools: specsOf(mcpToolConfig),
    exchange: specsOf(mcpExternalAuthConfig).map(
      ({ tokenExchange }) => tokenExchange as NonNullable<ExternalAuthSpec['tokenExchange']>,
    ),
    oidcData: fc.dictionary(
      fc.constantFrom('issuer', 'audience', 'jwksUrl', 'clientSecret', 'jwksAllowPrivateIP'),
      fc.constantFrom('https://id.example.com', '', 'true', 'a'),
    ),
    authorization: fc.constant(authorizationFile(['permit(principal, action, resource);'], '[]')),
  },
  { requiredKeys: ['profile', 'secretVersions'] },
);

interface Workload {
  spec: {
    selector: { matchLabels: Record<string, string> };
    template: {
      metadata: { labels: Record<string, string> };
      spec: {
        containers: { env?: { name: string }[]; volumeMounts?: { name: string; mountPath: string }[] }[];
        volumes: { name: string }[];
      };
    };
  };
}

/** What the API server refuses in objects of the operator, or what a container could not start with. */
function problemsOf(children: readonly Child[]): string[] {
  const names = children.map(({ object }) => `${object.kind}/${object.metadata.name}`);
  return [...repeated(names).map((name) => `two objects ${name}`), ...children.flatMap(podProblemsOf)];
}

function podProblemsOf({ object }: Child): string[] {
  if (object.kind !== 'Deployment' && object.kind !== 'StatefulSet') return [];
  const { selector, template } = (object as unknown as Workload).spec;
  const volumes = new Set(template.spec.volumes.map(({ name }) => name));
  const labels = new Set(Object.entries(template.metadata.labels).map((label) => label.join('=')));
  return [
    ...Object.entries(selector.matchLabels)
      .map((label) => label.join('='))
      .filter((label) => !labels.has(label))
      .map((label) => `no label ${label}`),
    ...template.spec.containers.flatMap(({ env = [], volumeMounts = [] }) => [
      ...repeated(env.map(({ name }) => name)).map((name) => `two variables ${name}`),
      ...repeated(volumeMounts.map(({ mountPath }) => mountPath)).map((path) => `two mounts at ${path}`),
      ...volumeMounts.filter(({ name }) => !volumes.has(name)).map(({ name }) => `no volume ${name}`),
    ]),
  ];
}

/** Why a condition does not name its problem. */
function vaguenessOf({ reason, message }: Finding): string[] {
  return /^[A-Z]\w+$/.test(reason) && message !== ''
    ? []
    : [`the condition has reason ${reason} and message ${message}`];
}

const repeated = (values: string[]): string[] =>
  values.filter((value, index) => values.indexOf(value) !== index);

test.each([mcpServer, mcpRemoteProxy].map((resource) => [resource.kind, resource as Resource] as const))(
  'every %s that its definition admits leads to objects or to a condition',
  async (_kind, resource) => {
    const counts = { children: 0, finding: 0 };

    await fc.assert(
      fc.asyncProperty(specsOf(resource), referencesOf, async (spec, references) => {
        const outcome = await outcomeOf(resource, spec, references);
        const again = await outcomeOf(resource, structuredClone(spec), references);

        counts['children' in outcome ? 'children' : 'finding'] += 1;
        expect('children' in outcome ? problemsOf(outcome.children) : vaguenessOf(outcome.finding)).toEqual(
          [],
        );
        // Objects in another order or with other contents would be written by every pass.
        expect(hashOf(again)).toBe(hashOf(outcome));
      }),
      { numRuns, seed },
    );

    expect(counts.children).toBeGreaterThan(numRuns / 20);
    expect(counts.finding).toBeGreaterThan(numRuns / 20);
  },
);

/** The fields of a schema, as paths. `0` is an item of a list, and `name` an entry of a map. */
function fieldsOf(schema: JsonSchema, path: string[] = []): { path: string[]; schema: JsonSchema }[] {
  const { properties, items, additionalProperties } = schema;
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, part]) => fieldsOf(part, [...path, name]));
  if (items !== undefined) return fieldsOf(items, [...path, '0']);
  if (typeof additionalProperties === 'object') return fieldsOf(additionalProperties, [...path, 'name']);
  return [{ path, schema }];
}

/** Other values of a field. One of them is not the default. */
function otherValues({ type, enum: values }: JsonSchema, value: unknown): unknown[] {
  if (values !== undefined) return values.filter((other) => other !== value);
  if (type === 'boolean') return [true, false];
  if (type === 'integer') return [Number(value ?? 8_000) + 1];
  if (type === 'object') return [{ metadata: { labels: { team: 'red' } } }];
  return [typeof value === 'string' ? `${value}1` : '/other'];
}

/** A spec with another value of a field. */
function withValue(spec: unknown, [name, ...rest]: string[], value: unknown): unknown {
  if (name === undefined) return value;
  if (name === '0') {
    const [first, ...others] = (spec ?? []) as unknown[];
    return [withValue(first, rest, value), ...others];
  }
  const before = (spec ?? {}) as Record<string, unknown>;
  return { ...before, [name]: withValue(before[name], rest, value) };
}

function valueAt(spec: unknown, path: string[]): unknown {
  return path.reduce((part, name) => (part as Record<string, unknown> | undefined)?.[name], spec);
}

const login = { issuer: 'https://id.example.com', audience: 'tools' };
const common = {
  telemetry: {
    openTelemetry: { enabled: true, endpoint: 'https://collector.example.com', tracing: { enabled: true } },
  },
  volumes: [{ name: 'data', hostPath: '/data', mountPath: '/data' }],
  env: [{ name: 'A', value: 'a' }],
  secrets: [{ name: 'login', key: 'key' }],
  resourceOverrides: { proxyDeployment: { env: [{ name: 'A', value: 'a' }] } },
};
/** Specs in which each field has a meaning. */
const bases: Record<string, object[]> = {
  MCPServer: [
    { image: 'example/server:1', transport: 'streamable-http', targetPort: 9_000, ...common },
    { image: 'example/server:1', transport: 'stdio' },
  ].flatMap((base) => [
    { ...base, oidcConfig: { type: 'inline', inline: login } },
    { ...base, oidcConfig: { type: 'kubernetes', kubernetes: {} } },
  ]),
  MCPRemoteProxy: [
    { ...common, remoteURL: 'https://mcp.example.com/mcp', oidcConfig: { type: 'inline', inline: login } },
    { remoteURL: 'https://mcp.example.com/mcp', oidcConfig: { type: 'kubernetes', kubernetes: {} } },
  ],
};

/**
 * Fields whose objects a pass reads: tests with a cluster change those objects. The key of `oidcConfig.configMap` names
 * nothing, because the fields of the provider are the keys of its ConfigMap.
 */
const references =
  /^(toolConfigRef|externalAuthConfigRef|permissionProfile|authzConfig|oidcConfig\.configMap)\b/;

test.each([mcpServer, mcpRemoteProxy].map((resource) => [resource.kind, resource as Resource] as const))(
  'a change of any field of %s changes an object or is refused',
  async (kind, resource) => {
    const none: References = { profile: {}, secretVersions: '' };
    const spec = schemaOf(resource).properties.spec as JsonSchema; // the same document
    const fields = fieldsOf(spec).filter(({ path }) => !references.test(path.join('.')));
    const usual = await Promise.all((bases[kind] ?? []).map((base) => outcomeOf(resource, base, none)));
    expect(usual.map((outcome) => Object.keys(outcome))).toEqual(usual.map(() => ['children']));

    const ignored: string[] = [];
    for (const { path, schema } of fields) {
      const changed = (bases[kind] ?? []).flatMap((base, index) =>
        otherValues(schema, valueAt(base, path)).map(async (value) => {
          const outcome = await outcomeOf(resource, withValue(base, path, value), none);
          return hashOf(outcome) !== hashOf(usual[index]);
        }),
      );
      if (!(await Promise.all(changed)).includes(true)) ignored.push(path.join('.'));
    }

    expect(fields.length).toBeGreaterThan(40);
    expect(ignored).toEqual([]);
  },
);

test('a pod template with fields that have no value is one without them', () => {
  const podTemplateSpec = { metadata: { annotations: null }, spec: { containers: null, volumes: null } };
  const metadata = { name: 'echo', namespace: 'tools', uid: '1', generation: 1 };
  const apiVersion = 'toolhive.stacklok.dev/v1alpha1';

  const spec = specOf({
    apiVersion,
    kind: 'MCPServer',
    metadata,
    spec: { image: 'example/echo:1', podTemplateSpec },
  }) as ServerSpec;

  expect(spec.podTemplateSpec).toEqual({ metadata: {}, spec: {} });
  expect(checkTemplate(spec)).toMatchObject([{ type: 'PodTemplateValid', status: 'True' }]);
});
