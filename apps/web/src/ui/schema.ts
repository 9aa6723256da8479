import { asObject } from '../api/mcp.ts';
import type { Values } from '../api/mcp.ts';

/** How a value is entered. */
export type Control =
  | { kind: 'text'; format?: string | undefined }
  | { kind: 'number'; isInteger: boolean }
  | { kind: 'boolean' }
  | { kind: 'choice'; options: readonly { value: unknown; title: string }[] }
  | { kind: 'object'; properties: readonly (readonly [string, Values])[]; required: ReadonlySet<string> }
  | { kind: 'list'; items: Values }
  | { kind: 'variants'; variants: readonly { title: string; schema: Values }[] }
  | { kind: 'json' };

/** References within references, after which a schema is entered as JSON. */
const maxReferences = 20;

/** Replaces references with their definitions, and merges the parts of `allOf`. */
export function resolve(schema: unknown, root: unknown, depth = 0): Values {
  const own = asObject(schema);
  if (depth > maxReferences) return {};
  const { $ref: reference, allOf: parts, ...rest } = own;
  const referred =
    typeof reference === 'string' ? resolve(pointedAt(root, reference), root, depth + 1) : undefined;
  const merged = Array.isArray(parts) ? parts.slice(0, 50).map((part) => resolve(part, root, depth + 1)) : [];
  return [...(referred === undefined ? [] : [referred]), ...merged, rest].reduce(merge, {});
}

function merge(left: Values, right: Values): Values {
  return {
    ...left,
    ...right,
    ...(left['properties'] === undefined || right['properties'] === undefined
      ? {}
      : { properties: { ...asObject(left['properties']), ...asObject(right['properties']) } }),
    ...(Array.isArray(left['required']) && Array.isArray(right['required'])
      ? { required: [...(left['required'] as unknown[]), ...(right['required'] as unknown[])] }
      : {}),
  };
}

/** Follows a JSON pointer (RFC 6901) within the same document. Other documents are never loaded. */
function pointedAt(root: unknown, reference: string): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) {
    const anchors = Object.values(asObject(asObject(root)['$defs']));
    return anchors.find((part) => `#${String(asObject(part)['$anchor'])}` === reference);
  }
  return reference
    .slice(2)
    .split('/')
    .map((step) => decoded(step).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (part, step) =>
        typeof part === 'object' && part !== null && Object.hasOwn(part, step)
          ? (part as Values)[step]
          : undefined,
      root,
    );
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step; // a percent sign that begins nothing
  }
}

/** Chooses how the value of a resolved schema is entered. */
export function controlFor(schema: Values, root: unknown): Control {
  const options = choices(schema);
  if (options !== undefined) return { kind: 'choice', options };
  const variants = alternatives(schema, root);
  if (variants !== undefined) {
    const [only] = variants;
    return variants.length === 1 && only !== undefined
      ? controlFor(only.schema, root)
      : { kind: 'variants', variants };
  }
  switch (typeOf(schema)) {
    case 'string':
      return { kind: 'text', format: typeof schema['format'] === 'string' ? schema['format'] : undefined };
    case 'integer':
      return { kind: 'number', isInteger: true };
    case 'number':
      return { kind: 'number', isInteger: false };
    case 'boolean':
      return { kind: 'boolean' };
    case 'array':
      return schema['prefixItems'] === undefined &&
        typeof schema['items'] === 'object' &&
        schema['items'] !== null
        ? { kind: 'list', items: schema['items'] as Values }
        : { kind: 'json' };
    case 'object': {
      const properties = Object.entries(asObject(schema['properties'])).map(
        ([name, part]) => [name, asObject(part)] as const,
      );
      if (properties.length === 0) return { kind: 'json' };
      return { kind: 'object', properties, required: requiredIn(schema) };
    }
    default:
      return { kind: 'json' };
  }
}

function requiredIn(schema: Values): ReadonlySet<string> {
  const required = schema['required'];
  return new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []);
}

/** The only type of a schema, apart from null. */
function typeOf({ type, properties, items }: Values): string | undefined {
  const types = (Array.isArray(type) ? type : [type]).filter((each) => each !== 'null' && each !== undefined);
  if (types.length === 1 && typeof types[0] === 'string') return types[0];
  if (types.length > 1) return undefined;
  if (properties !== undefined) return 'object';
  return items === undefined ? undefined : 'array';
}

/** Whether null is a value. */
export function isNullable(schema: Values): boolean {
  const { type, anyOf, oneOf } = schema;
  const parts = [...(Array.isArray(anyOf) ? anyOf : []), ...(Array.isArray(oneOf) ? oneOf : [])];
  return (
    type === 'null' ||
    (Array.isArray(type) && type.includes('null')) ||
    parts.some((part) => asObject(part)['type'] === 'null')
  );
}

function choices({
  enum: values,
  enumNames,
  const: constant,
  oneOf,
  anyOf,
  ...rest
}: Values): { value: unknown; title: string }[] | undefined {
  if ('const' in rest || constant !== undefined) return [{ value: constant, title: titleOf(constant) }];
  if (Array.isArray(values)) {
    const names: unknown[] = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value: unknown, index) => ({
      value,
      title: typeof names[index] === 'string' ? names[index] : titleOf(value),
    }));
  }
  const parts: unknown = oneOf ?? anyOf;
  if (!Array.isArray(parts) || parts.length === 0) return undefined;
  const titled = parts.map((part) => asObject(part));
  if (!titled.every((part) => 'const' in part)) return undefined;
  return titled.map((part) => ({
    value: part['const'],
    title: typeof part['title'] === 'string' ? part['title'] : titleOf(part['const']),
  }));
}

function titleOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function alternatives(schema: Values, root: unknown): { title: string; schema: Values }[] | undefined {
  const { oneOf, anyOf, type, ...rest } = schema;
  const parts: unknown = oneOf ?? anyOf;
  if (Array.isArray(parts)) {
    const found = parts
      .slice(0, 50)
      .map((part) => resolve(part, root))
      .filter((part) => part['type'] !== 'null')
      .map((part, index) => ({
        title: variantTitle(part, root) ?? `Variant ${index + 1}`,
        schema: merge({ ...(type === undefined ? {} : { type }), ...rest }, part),
      }));
    return found.length > 0 ? distinct(found) : undefined;
  }
  const types = Array.isArray(type) ? type.filter((each) => each !== 'null') : [];
  if (types.length < 2) return undefined;
  return types.map((each) => ({ title: String(each), schema: { ...rest, type: each as unknown } }));
}

/** The most names of properties in the title of a variant. */
const maxTitleNames = 3;

/** The title of a variant, the constant that marks it, the names of its properties, or its type. */
function variantTitle(part: Values, root: unknown): string | undefined {
  if (typeof part['title'] === 'string') return part['title'];
  if (part['const'] !== undefined) return titleOf(part['const']);
  const properties = Object.entries(asObject(part['properties']));
  const marks = properties.flatMap(([name, each]) => {
    const { const: constant } = resolve(each, root);
    return constant === undefined ? [] : [`${name}: ${titleOf(constant)}`];
  });
  const [mark] = marks;
  if (mark !== undefined) return mark;
  const required = requiredIn(part);
  const names = properties
    .map(([name]) => name)
    .toSorted((a, b) => Number(required.has(b)) - Number(required.has(a)));
  if (names.length === 0) return typeOf(part);
  return names.slice(0, maxTitleNames).join(', ') + (names.length > maxTitleNames ? ', …' : '');
}

/** Variants with different titles. */
function distinct<Variant extends { title: string }>(variants: readonly Variant[]): Variant[] {
  return variants.map((variant, index) => {
    const before = variants.slice(0, index).filter(({ title }) => title === variant.title).length;
    return before === 0 ? variant : { ...variant, title: `${variant.title} (${before + 1})` };
  });
}

/** The initial value of a form: the defaults and constants in the schema. */
export function initialValue(schema: unknown, root: unknown, depth = 0): unknown {
  const resolved = resolve(schema, root);
  if (resolved['default'] !== undefined) return resolved['default'];
  if (resolved['const'] !== undefined) return resolved['const'];
  if (depth > 5) return undefined;
  const control = controlFor(resolved, root);
  if (control.kind === 'object') {
    const entries = control.properties
      .map(([name, part]) => {
        const value = initialValue(part, root, depth + 1);
        const isNeeded = control.required.has(name);
        return [
          name,
          value ?? (isNeeded && controlFor(resolve(part, root), root).kind === 'object' ? {} : undefined),
        ] as const;
      })
      .filter(([, value]) => value !== undefined);
    return entries.length > 0 || depth === 0 ? Object.fromEntries(entries) : undefined;
  }
  return undefined;
}
