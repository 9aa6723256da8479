import { nameIn } from './schema.ts';
import type { Schema } from './schema.ts';

/** An OpenAPI document, as far as ours uses the format. */
export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; description: string };
  servers: readonly { url: string; description: string }[];
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: {
    schemas: Readonly<Record<string, Schema>>;
    responses: Readonly<Record<string, Answer>>;
    securitySchemes: Readonly<Record<string, { description: string }>>;
  };
}

export interface Operation {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description?: string;
  parameters: readonly Parameter[];
  requestBody?: { content: Content };
  responses: Readonly<Record<string, Answer | { $ref: string }>>;
  'x-codeSamples'?: readonly Sample[];
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Schema;
}

type Content = Readonly<Record<string, { schema: Schema }>>;

export interface Answer {
  description: string;
  content?: Content;
}

/** How to call an operation, in some language. */
export interface Sample {
  lang: string;
  label: string;
  source: string;
}

/** An operation with its path and method. */
export interface Call {
  method: string;
  path: string;
  operation: Operation;
}

/** Every operation of a document, in its order. */
export function callsOf({ paths }: OpenApi): Call[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}

/** Follows a reference to a schema. */
function resolved({ components }: OpenApi, schema: Schema): Schema {
  return schema.$ref === undefined ? schema : (components.schemas[nameIn(schema.$ref)] ?? {});
}

/** The path of an operation with example values. Throws if the definition has no examples. */
export function examplePath(document: OpenApi, { path, operation }: Call): string {
  return operation.parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((filled, { name, schema }) => {
      const [example] = schema.examples ?? resolved(document, schema).examples ?? [];
      if (typeof example !== 'string' && typeof example !== 'number')
        throw new Error(`${name} of ${operation.operationId} has no example`);
      return filled.replace(`{${name}}`, encodeURIComponent(String(example)));
    }, path);
}

/** An example body of an operation, or undefined without a body. Throws if the definition has no example. */
export function exampleBody(document: OpenApi, { operation }: Call): unknown {
  const schema = operation.requestBody?.content['application/json']?.schema;
  if (schema === undefined) return undefined;
  const [example] = (schema.oneOf ?? [schema]).flatMap((one) => resolved(document, one).examples ?? []);
  if (example === undefined) throw new Error(`the body of ${operation.operationId} has no example`);
  return example;
}
