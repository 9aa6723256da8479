import { describe, expect, test } from 'vitest';
import original from '../compatibility/api-v0.4.2.json' with { type: 'json' };
import { openApiDocument } from './openapi.ts';
import { isOriginalForm, originalFields } from './original-form.ts';

/**
 * Compares our OpenAPI document with the shape of the API of the original: clients of the original find
 * every path, method, parameter, status, field, type and enum value of it here. More is fine, less is not.
 */

interface Shape {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Shape>;
  items?: Shape;
  additionalProperties?: Shape | boolean;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Shape[];
  oneOf?: Shape[];
  allOf?: Shape[];
  always_present?: string[];
  required?: string[];
}

interface Parameter {
  name: string;
  in: string;
  type?: string;
  required?: boolean;
  schema?: Shape;
}

interface OperationShape {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, unknown> };
  responses: Record<string, unknown>;
}

interface Document {
  paths: Record<string, Record<string, OperationShape>>;
  components: { schemas: Record<string, Shape> };
}

// Both documents are checked by what the tests find in them.
const ours = openApiDocument() as unknown as Document;
const theirs = original as unknown as {
  paths: Record<string, Record<string, OperationShape>>;
  components: Record<string, Shape>;
};

/** Facts about the original that the specification decides otherwise, and why. */
const decided: Record<string, string> = {
  '/api/openapi.json': 'the document does not describe itself',
};

const operations = Object.entries(theirs.paths)
  .filter(([path]) => !(path in decided))
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );

describe('every operation of the original exists, with all its parts:', () => {
  test.each(operations)('$method $path', ({ path, method, operation }) => {
    const own = ours.paths[path]?.[method.toLowerCase()];

    expect(own).toBeDefined();
    if (own === undefined) return;
    expect(missingFrom(operation, own)).toEqual([]);
  });
});

test('operations have ids of their own, tags, summaries and nothing that refers to nothing', () => {
  const all = Object.values(ours.paths).flatMap((methods) => Object.values(methods)) as unknown as {
    operationId: string;
    tags: string[];
    summary: string;
  }[];

  expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length);
  for (const { tags, summary } of all) expect([tags.length, summary.length > 5]).toEqual([1, true]);
  const text = JSON.stringify(ours);
  for (const [, id = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    expect(ours.components.schemas).toHaveProperty([id]);
  }
});

function missingFrom(wanted: OperationShape, own: OperationShape): string[] {
  const missing: string[] = [];
  for (const { name, in: where, type } of wanted.parameters ?? []) {
    const parameter = own.parameters?.find((candidate) => candidate.name === name && candidate.in === where);
    if (parameter === undefined) missing.push(`${where} parameter ${name}`);
    else if (type === 'boolean')
      expectTypes(parameter.schema ?? {}, ['boolean'], `parameter ${name}`, missing);
  }
  for (const status of Object.keys(wanted.responses)) {
    if (!(status in own.responses)) missing.push(`status ${status}`);
  }
  const body = wanted.requestBody?.content['application/json'];
  if (body !== undefined && hasFields(body as Shape)) {
    compare(body as Shape, jsonOf(own.requestBody?.content), 'body', missing, new Set());
  }
  for (const [status, response] of Object.entries(wanted.responses)) {
    const shape = (response as Record<string, Shape> | null)?.['application/json'];
    // Errors, logs and empty answers are declared as strings by the original and never sent as JSON.
    if (shape === undefined || shape.type === 'string') continue;
    const content = (own.responses[status] as { content?: Record<string, unknown> } | undefined)?.content;
    compare(shape, jsonOf(content), `answer ${status}`, missing, new Set());
  }
  return missing;
}

/** The original declares a body for an operation that takes none. */
function hasFields(shape: Shape): boolean {
  return shape.$ref !== undefined || shape.properties !== undefined;
}

function jsonOf(content: Record<string, unknown> | undefined): Shape {
  return (content?.['application/json'] as { schema?: Shape } | undefined)?.schema ?? {};
}

/** Notes everything of `wanted` that `own` has not. */
function compare(wanted: Shape, own: Shape, where: string, missing: string[], seen: Set<string>): void {
  if (wanted.$ref !== undefined) {
    if (seen.has(wanted.$ref)) return;
    const target = theirs.components[wanted.$ref];
    expect(target).toBeDefined();
    return compare(target ?? {}, own, where, missing, new Set([...seen, wanted.$ref]));
  }
  const options = optionsOf(own);
  if (wanted.enum !== undefined) {
    const values = options.flatMap(
      (option) => option.enum ?? (option.const === undefined ? [] : [option.const]),
    );
    const isOpen = options.some(
      (option) => option.type === 'string' && option.enum === undefined && option.const === undefined,
    );
    for (const value of wanted.enum) {
      if (!isOpen && !values.includes(value)) missing.push(`${where}: value ${JSON.stringify(value)}`);
    }
  }
  for (const [name, shape] of Object.entries(wanted.properties ?? {})) {
    const parts = options.flatMap((option) => option.properties?.[name] ?? []);
    if (parts.length === 0) missing.push(`${where}.${name}`);
    else compare(shape, { anyOf: parts }, `${where}.${name}`, missing, seen);
  }
  if (wanted.items !== undefined) {
    const items = options.flatMap((option) => option.items ?? []);
    if (items.length === 0) missing.push(`${where} is no list`);
    else compare(wanted.items, { anyOf: items }, `${where}[]`, missing, seen);
  }
  if (
    typeof wanted.additionalProperties === 'object' &&
    Object.keys(wanted.additionalProperties).length > 0
  ) {
    const values = options.flatMap(({ additionalProperties: values }) =>
      typeof values === 'object' ? [values] : [],
    );
    if (values.length === 0) missing.push(`${where} is no map`);
    else compare(wanted.additionalProperties, { anyOf: values }, `${where}{}`, missing, seen);
  }
  if (typeof wanted.type === 'string' && wanted.enum === undefined)
    expectTypes(own, [wanted.type], where, missing);
}

function expectTypes(own: Shape, types: string[], where: string, missing: string[]): void {
  const declared = optionsOf(own).flatMap(({ type, enum: values, const: value, properties }) =>
    properties !== undefined
      ? ['object']
      : type !== undefined
        ? [type].flat()
        : values !== undefined || value !== undefined
          ? ['string']
          : ['any'],
  );
  for (const type of types) {
    if (!declared.includes(type) && !declared.includes('any'))
      missing.push(`${where}: ${type}, not ${declared.join(' or ')}`);
  }
}

/** A schema as its alternatives. */
function optionsOf(shape: Shape): Shape[] {
  const [, id] = /^#\/components\/schemas\/(.+)$/.exec(shape.$ref ?? '') ?? [];
  if (id !== undefined) return optionsOf(ours.components.schemas[id] ?? {});
  const alternatives = [...(shape.anyOf ?? []), ...(shape.oneOf ?? []), ...(shape.allOf ?? [])];
  return alternatives.length > 0 ? [shape, ...alternatives.flatMap(optionsOf)] : [shape];
}

describe('the form of the original', () => {
  test('has exactly the fields of its requests for workloads', () => {
    const fields = ['v1.createRequest', 'v1.updateRequest'].flatMap((name) =>
      Object.keys(theirs.components[name]?.properties ?? {}),
    );

    expect([...originalFields]).toEqual([...new Set(fields)].toSorted());
  });

  test.each([
    [{ image: 'fetch', network_isolation: false }, true],
    [{ image: 'fetch', accepted_risks: undefined }, true],
    [{ image: 'fetch', accepted_risks: [] }, false],
    [{ image: 'fetch', accepted_risks: null }, false],
    [{ image: 'fetch', schema_version: 'v0.1.0' }, false],
  ])('is that of %j: %s', (request, expected) => {
    expect(isOriginalForm(request)).toBe(expected);
  });
});
