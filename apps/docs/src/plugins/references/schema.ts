/** JSON Schema, as far as our definitions use it. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  title?: string;
  description?: string;
  format?: string;
  pattern?: string;
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  examples?: readonly unknown[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  not?: object;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
}

/** A part of a type name: words, or a reference to a schema. */
export type TypePart = string | { schema: string };

/** Describes the type of a value in words. */
export function typeOf(schema: Schema): TypePart[] {
  if (schema.$ref !== undefined) return [{ schema: nameIn(schema.$ref) }];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) {
    return choices.flatMap((choice, index) => [...(index === 0 ? [] : [' or ']), ...typeOf(choice)]);
  }
  if (schema.const !== undefined) return [JSON.stringify(schema.const)];
  if (schema.items !== undefined) return ['list of ', ...typeOf(schema.items)];
  const values = schema.additionalProperties;
  if (schema.properties === undefined && typeof values === 'object') return ['map of ', ...typeOf(values)];
  const types = [schema.type ?? (schema.not === undefined ? 'anything' : 'nothing')].flat();
  return [types.join(' or ')];
}

/** The name that a reference ends in. */
export function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** Describes the rules for a value, in addition to its type. Code is in backticks. */
export function rulesOf(schema: Schema): string[] {
  const own = withoutNull(schema);
  const inner = own.items ?? (typeof own.additionalProperties === 'object' ? own.additionalProperties : {});
  return [
    ...plainRules(own),
    ...(inner.$ref === undefined ? plainRules(inner) : []).map((rule) => `each ${rule}`),
  ];
}

function plainRules(schema: Schema): string[] {
  const { format, pattern, minimum, maximum, minItems, maxItems } = schema;
  return [
    ...(schema.enum === undefined ? [] : [`one of ${schema.enum.map(literal).join(', ')}`]),
    ...(format === undefined || /^u?int\d+$/.test(format) ? [] : [formats[format] ?? format]),
    // The name of a format replaces a pattern of a hundred characters.
    ...(pattern === undefined || format !== undefined ? [] : [`matches \`${pattern}\``]),
    ...range(minimum, maximum, ''),
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(minItems, maxItems, ' items'),
    ...(schema.uniqueItems === true ? ['no duplicates'] : []),
  ];
}

/** The name of a format in a sentence. */
const formats: Readonly<Record<string, string>> = {
  'date-time': 'a time in the format of RFC 3339',
  uri: 'a URL',
};

function range(from: number | undefined, to: number | undefined, what: string): string[] {
  if (from === undefined && to === undefined) return [];
  if (to === undefined) return [`at least ${from}${from === 1 ? what.replace(/s$/, '') : what}`];
  return [from === undefined ? `at most ${to}${what}` : `from ${from} to ${to}${what}`];
}

/** A value as code. */
export function literal(value: unknown): string {
  return `\`${typeof value === 'string' && value !== '' ? value : JSON.stringify(value)}\``;
}

/** Describes the default and the allowed values. */
export function allowedOf(schema: Schema): string[] {
  const plain = (schema.examples ?? []).filter((example) => typeof example !== 'object');
  return [
    ...(schema.default === undefined || isEmpty(schema.default)
      ? []
      : [`default ${literal(schema.default)}`]),
    ...(plain.length === 0 ? [] : [`such as ${plain.map(literal).join(', ')}`]),
  ];
}

/** Whether a list or an object is empty. */
export function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** The variants of an object, by the value that distinguishes them. */
export function variantsOf({ oneOf = [] }: Schema): { name: string; schema: Schema }[] {
  return oneOf.flatMap((schema) => {
    const name = Object.values(schema.properties ?? {}).find((field) => field.const !== undefined)?.const;
    return typeof name === 'string' ? [{ name, schema }] : [];
  });
}

/** A field of an object. */
export interface Field {
  name: string;
  schema: Schema;
  isRequired: boolean;
}

/** The fields of an object, or of the objects in a list or map. `suffix` shows which. */
export function fieldsOf(schema: Schema): { suffix: string; fields: Field[] } {
  const { properties, required = [], items, additionalProperties } = withoutNull(schema);
  if (properties !== undefined) {
    const fields = Object.entries(properties).map(([name, own]) => ({
      name,
      schema: own,
      isRequired: required.includes(name),
    }));
    return { suffix: '', fields };
  }
  const [inner, suffix] = items === undefined ? [additionalProperties, '.*'] : [items, '[]'];
  if (typeof inner !== 'object') return { suffix: '', fields: [] };
  const below = fieldsOf(inner);
  return { suffix: below.fields.length === 0 ? '' : suffix + below.suffix, fields: below.fields };
}

/** All fields below a schema, each by its path from there: `network.outbound.allow_host`, `env[].name`. */
export function allFieldsOf(schema: Schema, path = ''): Field[] {
  const { suffix, fields } = fieldsOf(schema);
  return fields.flatMap((field) => {
    const name = `${path}${suffix}${path + suffix === '' ? '' : '.'}${field.name}`;
    return [{ ...field, name }, ...allFieldsOf(field.schema, name)];
  });
}

/** The type of a nullable value without null. */
function withoutNull(schema: Schema): Schema {
  const others = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  return schema.anyOf !== undefined && others.length === 1 ? (others[0] ?? schema) : schema;
}

/** The root of a JSON Schema document, which can be a reference to one of its definitions. */
export function rootOf(document: object): Schema {
  const { $ref, $defs = {}, ...schema } = document as Schema & { $defs?: Readonly<Record<string, Schema>> };
  return $ref === undefined ? schema : ($defs[nameIn($ref)] ?? {});
}
