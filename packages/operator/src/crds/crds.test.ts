import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import original from '../../compatibility/crds-v0.4.2.json' with { type: 'json' };
import { crdFiles, crdOf, exampleOf, resources, schemaOf } from './crds.ts';

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
    versions: [{ name: string; additionalPrinterColumns: object[]; [key: string]: unknown }];
  };
}

const pairs = original.kinds.map((theirs) => ({
  kind: theirs.kind,
  theirs,
  resource: resources.find(({ kind }) => kind === theirs.kind),
}));

describe('compared with the original', () => {
  test('there are the same kinds', () => {
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
      ...(theirs.shortNames.length > 0 ? { shortNames: theirs.shortNames } : {}),
      ...(theirs.categories.length > 0 ? { categories: theirs.categories } : {}),
    });
    expect(crd?.spec.versions[0]).toMatchObject({ name: 'v1alpha1', served: true, storage: true });
    expect(crd?.spec.versions[0].additionalPrinterColumns).toEqual(theirs.versions[0]?.printerColumns);
  });

  test.each(pairs)('$kind has the same fields, with the same rules', ({ theirs, resource }) => {
    const { spec, status } = (resource && schemaOf(resource).properties) ?? {};
    const fields = theirs.versions[0]?.fields as { spec: Original; status: Original };

    expect(factsOf(spec as Schema)).toEqual(factsOfOriginal(fields.spec));
    expect(factsOf(status as Schema)).toEqual(factsOfOriginal(fields.status));
  });
});

describe('every kind', () => {
  test.each(resources.map((resource) => ({ kind: resource.kind, resource })))(
    '$kind can be read by Kubernetes',
    ({ resource }) => {
      const schema = schemaOf(resource) as unknown as Schema;

      expect(problemsOf(schema, resource.kind)).toEqual([]);
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
  'type properties additionalProperties items required enum default description format pattern minimum maximum minLength maxLength minItems x-kubernetes-preserve-unknown-fields x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-map-type'.split(
    ' ',
  ),
);

/** What Kubernetes would refuse, and what a reader would miss. */
function problemsOf(schema: Schema, path: string): string[] {
  const { type, properties = {}, additionalProperties, items } = schema;
  return [
    ...Object.keys(schema)
      .filter((key) => !allowed.has(key))
      .map((key) => `${path} has ${key}`),
    ...(type === undefined ? [`${path} has no type`] : []),
    ...(schema.properties !== undefined && additionalProperties !== undefined
      ? [`${path} has both kinds of properties`]
      : []),
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(field['description'] === undefined ? [`${path}.${name} says nothing`] : []),
      ...problemsOf(field, `${path}.${name}`),
    ]),
    ...(additionalProperties === undefined ? [] : problemsOf(additionalProperties, `${path}.*`)),
    ...(items === undefined ? [] : problemsOf(items, `${path}[]`)),
  ];
}
