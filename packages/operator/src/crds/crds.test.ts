import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import original from '../../compatibility/crds-v0.4.2.json' with { type: 'json' };
import { crdFiles, crdOf, exampleOf, resources, schemaOf } from './crds.ts';
import { proves } from '@toolhive/testing/promises';

interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema;
  items?: Schema;
  required?: string[];
  enum?: string[];
  [key: string]: unknown;
}

interface Crd {
  metadata: { name: string };
  spec: {
    group: string;
    scope: string;
    names: Record<string, unknown>;
    versions: [{ name: string; additionalPrinterColumns: { name: string }[]; [key: string]: unknown }];
  };
}

const pairs = original.kinds.map((theirs) => ({
  kind: theirs.kind,
  theirs,
  resource: resources.find(({ kind }) => kind === theirs.kind),
}));

/** Status fields that the original does not have: counts, because its columns show nothing, and the pins in use. */
const ownFields = ['filterCount', 'overrideCount', 'toolPinsHash'];

describe('compared with the original', () => {
  test('there are the same kinds', () => {
    proves('operator.kinds');
    expect(resources.map(({ kind }) => kind).toSorted()).toEqual(original.kinds.map(({ kind }) => kind));
  });

  test.each(pairs)('$kind has the same names and columns', ({ theirs, resource }) => {
    const crd = resource && (crdOf(resource) as Crd);

    expect(crd?.metadata.name).toBe(theirs.crdName);
    expect(crd?.spec).toMatchObject({ group: theirs.group, scope: theirs.scope });
    expect(crd?.spec.names).toEqual({
      kind: theirs.kind,
      listKind: theirs.listKind,
      plural: theirs.plural,
      singular: theirs.singular,
      shortNames: expect.arrayContaining(theirs.shortNames) as unknown,
      categories: ['toolhive'],
    });
    expect(crd?.spec.versions[0]).toMatchObject({ name: 'v1alpha1', served: true, storage: true });
    const columns = crd?.spec.versions[0].additionalPrinterColumns ?? [];
    const names = theirs.versions[0]?.printerColumns.map(({ name }) => name) ?? [];
    expect(columns.filter(({ name }) => names.includes(name)).map(({ name }) => name)).toEqual(names);
    expect(columns.map(({ name }) => name).slice(-3)).toEqual(['Ready', 'Reason', 'Age']);
  });

  test.each(pairs)('$kind has the same fields, with the same rules', ({ theirs, resource }) => {
    const { spec, status } = (resource && schemaOf(resource).properties) ?? {};
    const fields = theirs.versions[0]?.fields as { spec: Original; status: Original };

    expect(factsOf(withoutOurs(spec as Schema))).toEqual(factsOfOriginal(fields.spec));
    // Every kind has conditions with the generation that they are about. Some kinds of the original lack them.
    const properties = (status as Schema).properties ?? {};
    const { conditions, observedGeneration, ...more } = properties;
    const others = Object.fromEntries(Object.entries(more).filter(([name]) => !ownFields.includes(name)));
    expect(conditions).toMatchObject({ 'x-kubernetes-list-map-keys': ['type'] });
    expect(observedGeneration).toMatchObject({ type: 'integer' });
    const { fields: theirFields = {}, ...theirStatus } = fields.status;
    const { conditions: theirConditions, observedGeneration: theirGeneration, ...theirOthers } = theirFields;
    const factsOfShared = { conditions, observedGeneration };
    for (const [name, theirs] of Object.entries({
      conditions: theirConditions,
      observedGeneration: theirGeneration,
    }))
      expect(
        theirs === undefined || factsOf(factsOfShared[name as keyof typeof factsOfShared] as Schema),
      ).toEqual(theirs === undefined || factsOfOriginal(theirs));
    expect(factsOf({ ...(status as Schema), properties: others })).toEqual(
      factsOfOriginal({ ...theirStatus, fields: theirOthers }),
    );
  });
});

describe('every kind', () => {
  test.each(resources.map((resource) => ({ kind: resource.kind, resource })))(
    '$kind can be read by Kubernetes',
    ({ resource }) => {
      const { spec } = crdOf(resource) as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
      const schemas = spec.versions.map(({ schema }) => schema.openAPIV3Schema);

      expect(schemas.flatMap((schema) => rootProblemsOf(schema, resource.kind))).toEqual([]);
      expect(schemas.flatMap((schema) => problemsOf(schema, resource.kind))).toEqual([]);
    },
  );

  test.each(resources.map((resource) => ({ kind: resource.kind, resource })))(
    '$kind has an example that it takes whole',
    ({ resource }) => {
      const { apiVersion, kind, spec } = parse(exampleOf(resource)) as Record<string, unknown>;

      expect({ apiVersion, kind }).toEqual({
        apiVersion: 'toolhive.stacklok.dev/v1alpha1',
        kind: resource.kind,
      });
      expect(resource.spec.parse(spec)).toMatchObject(spec as object);
    },
  );

  test('has a file, named as the tools of Kubernetes name them', () => {
    const files = crdFiles();

    expect(Object.keys(files)).toContain('toolhive.stacklok.dev_mcpservers.yaml');
    for (const text of Object.values(files))
      expect(parse(text)).toMatchObject({ kind: 'CustomResourceDefinition' });
  });
});

/** Fields that the original does not have, and a requirement of the original that is none here. */
const ours = [
  'replicas',
  'backendReplicas',
  'sessionStorage',
  'rateLimiting',
  'toolPins',
  'remote groupRef',
  'imagePullSecrets',
];

function withoutOurs(schema: Schema): Schema {
  const isRemote = schema.properties?.['remoteURL'] !== undefined;
  const isOurs = (name: string): boolean =>
    ours.includes(name) || (isRemote && ours.includes(`remote ${name}`));
  const kept = (properties: Record<string, Schema> | undefined): Record<string, Schema> =>
    Object.fromEntries(
      Object.entries(properties ?? {})
        .filter(([name]) => !isOurs(name))
        .map(([name, field]) => [
          name,
          name === 'resourceOverrides' || name === 'proxyDeployment'
            ? { ...field, properties: kept(field.properties) }
            : field,
        ]),
    );
  const required = isRemote ? [...(schema.required ?? []), 'oidcConfig'] : schema.required;
  return { ...schema, properties: kept(schema.properties), ...(required === undefined ? {} : { required }) };
}

/** A schema as the facts about the original spell it. */
type Original = Record<string, unknown> & {
  fields?: Record<string, Original>;
  values?: Original;
  items?: Original;
  required?: string[];
  allOf?: { enum: string[] }[];
};

/** Kubernetes fills in defaults before it looks for what is required, so that both together say no more than one. */
function requiredOf(required: string[] = [], fields: Record<string, Record<string, unknown>> = {}): string[] {
  return required.filter((name) => fields[name]?.['default'] === undefined).toSorted();
}

function factsOf(schema: Schema): object {
  const { description, properties, additionalProperties, items, required, enum: choices, ...rest } = schema;
  void description;
  const { 'x-kubernetes-list-type': listType, 'x-kubernetes-list-map-keys': keys, ...facts } = rest;
  void [listType, keys];
  return {
    ...facts,
    ...(choices === undefined ? {} : { enum: choices.toSorted() }),
    ...(properties === undefined ? {} : { fields: mapValues(properties, factsOf) }),
    ...(additionalProperties === undefined ? {} : { values: factsOf(additionalProperties) }),
    ...(items === undefined ? {} : { items: factsOf(items) }),
    required: requiredOf(required, properties),
  };
}

function factsOfOriginal(schema: Original): object {
  const { fields, values, items, required, enum: choices, allOf, listType, listMapKeys, ...rest } = schema;
  void [listType, listMapKeys];
  const { preserveUnknown, mapType, ...facts } = rest;
  const every = (choices ?? allOf?.[0]?.enum) as string[] | undefined;
  return {
    ...facts,
    ...(preserveUnknown === true ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    ...(mapType === undefined ? {} : { 'x-kubernetes-map-type': mapType }),
    ...(every === undefined ? {} : { enum: every.toSorted() }),
    ...(fields === undefined ? {} : { fields: mapValues(fields, factsOfOriginal) }),
    ...(values === undefined ? {} : { values: factsOfOriginal(values) }),
    ...(items === undefined ? {} : { items: factsOfOriginal(items) }),
    required: requiredOf(required, fields),
  };
}

function mapValues<From, To>(record: Record<string, From>, change: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

/** All that a structural schema may say (the reference of Kubernetes, "Specifying a structural schema"). */
const allowed = new Set(
  'type properties additionalProperties items required enum default description format pattern minimum maximum minLength maxLength minItems maxItems x-kubernetes-preserve-unknown-fields x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-map-type x-kubernetes-validations'.split(
    ' ',
  ),
);

/** The keys of a list that is a map have to be required of its items. */
function hasKeys({ items, 'x-kubernetes-list-map-keys': keys }: Schema): boolean {
  const required = items?.required ?? [];
  return Array.isArray(keys) && keys.every((key) => required.includes(String(key)));
}

function isRootMetadata(path: string, name: string): boolean {
  return !path.includes('.') && name === 'metadata';
}

/**
 * What the API server refuses at the root of a schema (apiextensions-apiserver, `pkg/apiserver/schema/validation.go`):
 * `metadata` may only restrict its name, and `apiVersion` and `kind` are strings that nothing restricts.
 */
function rootProblemsOf(schema: Schema, path: string): string[] {
  const { apiVersion, kind, metadata } = schema.properties ?? {};
  const restricted = Object.keys(metadata?.properties ?? {});
  return [
    ...(schema.type === 'object' ? [] : [`${path} is ${schema.type}`]),
    ...(metadata?.type === 'object' ? [] : [`${path}.metadata is ${metadata?.type}`]),
    ...Object.keys(metadata ?? {})
      .filter((key) => key !== 'type' && key !== 'properties')
      .map((key) => `${path}.metadata has ${key}`),
    ...restricted
      .filter((name) => name !== 'name' && name !== 'generateName')
      .map((name) => `${path}.metadata restricts ${name}`),
    ...Object.entries({ apiVersion, kind }).flatMap(([name, field]) =>
      Object.keys(field ?? {})
        .filter((key) => key !== 'type' && key !== 'description')
        .map((key) => `${path}.${name} has ${key}`),
    ),
    ...Object.entries({ apiVersion, kind })
      .filter(([, field]) => field?.type !== 'string')
      .map(([name]) => `${path}.${name} is no string`),
    ...[...(schema.required ?? [])].filter((name) => schema.properties?.[name] === undefined),
  ];
}

/** What Kubernetes would refuse below the root, and what a reader would miss. */
function problemsOf(schema: Schema, path: string): string[] {
  const { type, properties = {}, additionalProperties, items } = schema;
  return [
    ...Object.keys(schema)
      .filter((key) => !allowed.has(key))
      .map((key) => `${path} has ${key}`),
    ...(type === undefined ? [`${path} has no type`] : []),
    // Defaults are pruned and validated: one that its own schema refuses keeps the whole definition out.
    ...(schema['x-kubernetes-preserve-unknown-fields'] === true && type !== 'object'
      ? [`${path} keeps unknown fields and is no object`]
      : []),
    ...(schema['x-kubernetes-list-type'] === 'map' && (items?.type !== 'object' || !hasKeys(schema))
      ? [`${path} is a map by keys that its items do not require`]
      : []),
    ...(schema.properties !== undefined && additionalProperties !== undefined
      ? [`${path} has both kinds of properties`]
      : []),
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(field['description'] === undefined && !isRootMetadata(path, name)
        ? [`${path}.${name} says nothing`]
        : []),
      ...problemsOf(field, `${path}.${name}`),
    ]),
    ...(additionalProperties === undefined ? [] : problemsOf(additionalProperties, `${path}.*`)),
    ...(items === undefined ? [] : problemsOf(items, `${path}[]`)),
  ];
}
