import * as z from 'zod';
import { ThvError } from './failure.ts';
import type { FailureKind } from './failure.ts';
import { operationTags } from './operation.ts';
import type { Operation } from './operation.ts';
import { operations } from './operations/operations.ts';
import { Problem } from './schemas/problem.ts';
import {
  apiBase,
  failureStatus,
  internalFailure,
  problemMediaType,
  progressMediaType,
  writeProblem,
} from './wire.ts';

/** The API version, which differs from the product version. */
const apiVersion = '1.0';

/** Returns the document. Not under the base path, because the document also describes other paths. */
export const documentOperation: Operation = {
  method: 'GET',
  path: '/api/openapi.json',
  tag: 'system',
  access: 'read',
  command: 'none',
  summary: 'Get the OpenAPI document',
  success: { status: 200, description: 'The document.', body: z.looseObject({ openapi: z.string() }) },
  failures: [],
};

/** Returns the OpenAPI 3.1 document, generated from the operations. */
export function openApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'ToolHive API server',
      version: apiVersion,
      description:
        'The local API of ToolHive. ToolHive runs MCP servers in isolation behind a proxy and reports their activity. Errors are plain text by default. If an error has a fix, the second line starts with `hint:`. Requests with the header `Accept: application/problem+json` get errors as problem details (RFC 9457), in which `errors` contains a JSON pointer for each wrong field.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: 'http://localhost:8080', description: 'The daemon on this machine.' }],
    // No authentication, unless the daemon was started with a token or an issuer.
    security: [{}, { bearer: [] }],
    tags: Object.entries(operationTags).map(([name, description]) => ({ name, description })),
    paths: paths(),
    components: {
      schemas: componentSchemas(),
      responses: {
        ...Object.fromEntries(
          Object.entries(failureStatus)
            .filter(([kind]) => kind !== 'cancelled') // the client has already disconnected
            .map(([kind, { meaning }]) => [
              kind,
              failureResponse(meaning, new ThvError(kind as FailureKind, meaning)),
            ]), // the table has this key
        ),
        internal: failureResponse(internalFailure.text, undefined),
      },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            "A fixed token or an OpenID provider's token, depending on the daemon's flags. The Unix socket requires no token.",
        },
      },
    },
  };
}

function paths(): Record<string, Record<string, object>> {
  const result: Record<string, Record<string, object>> = {};
  for (const [id, operation] of Object.entries<Operation>(operations)) {
    add(`${apiBase}${operation.path}`, id, operation);
    if (operation.alsoAtRoot === true) add(operation.path, `${id}AtRoot`, operation);
  }
  add(documentOperation.path, 'getOpenApiDocument', documentOperation);
  return result;

  function add(path: string, id: string, operation: Operation): void {
    (result[path] ??= {})[operation.method.toLowerCase()] = describe(id, operation);
  }
}

function describe(id: string, operation: Operation): object {
  return {
    operationId: id,
    tags: [operation.tag],
    summary: operation.summary,
    ...described(operation),
    parameters: [
      ...parameters('path', operation.params),
      ...parameters('query', operation.query),
      ...parameters('header', operation.headers),
    ],
    ...requestBody(operation),
    responses: { ...successResponses(operation), ...failureResponses(operation) },
  };
}

function requestBody({ method, body, passThrough }: Operation): object {
  if (body === undefined && !(passThrough === true && method === 'POST')) return {};
  const schema = body === undefined ? anyMessage : schemaOf(body, 'input');
  return { requestBody: { required: true, content: { 'application/json': { schema } } } };
}

/** The messages of operations that belong to another protocol. */
const anyMessage = {
  type: 'object',
  description: 'A JSON-RPC message, as specified by MCP.',
  examples: [{ jsonrpc: '2.0', id: 1, method: 'ping' }],
};

function described({ description, socketOnly }: Operation): { description?: string } {
  const limit = socketOnly === true ? "Available only on the daemon's Unix socket." : undefined;
  const text = [description, limit].filter((part) => part !== undefined).join(' ');
  return text === '' ? {} : { description: text };
}

function parameters(location: 'path' | 'query' | 'header', schema: z.ZodObject | undefined): object[] {
  return Object.entries(schema?.shape ?? {}).map(([name, part]) => {
    const { description, ...rest } = schemaOf(part as z.ZodType, 'input') as { description?: string };
    return {
      name,
      in: location,
      required: location === 'path',
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

function successResponses(operation: Operation): Record<string, object> {
  const { status, description, body } = operation.success;
  if (operation.passThrough === true && status === 200) {
    const others = { description: 'Any other response, as specified by MCP.' };
    const content = {
      ...(operation.method === 'POST' ? { 'application/json': { schema: anyMessage } } : {}),
      'text/event-stream': { schema: { type: 'string' } },
    };
    return { 200: { description, content }, default: others };
  }
  const answer =
    body === undefined
      ? {}
      : body === 'text'
        ? {
            'text/plain': { schema: { type: 'string' } },
            ...(operation.success.lines === undefined
              ? {}
              : { [progressMediaType]: { schema: schemaOf(operation.success.lines, 'output') } }),
          }
        : 'events' in body
          ? { 'text/event-stream': { schema: schemaOf(body.events, 'output') } }
          : { 'application/json': { schema: schemaOf(body, 'output') } };
  const plain = { description, ...(body === undefined ? {} : { content: answer }) };
  if (operation.progress !== true) return { [status]: plain };
  return {
    200: {
      description: `With the header \`Accept: ${progressMediaType}\`: one JSON object per line with \`progress\`, one with \`accepted\` as soon as the request is accepted, and finally one with \`result\` or \`failure\`.`,
      content: { [progressMediaType]: { schema: { type: 'string' } } },
    },
    [status]: plain,
  };
}

/** The possible failures of every operation. */
const anyOperation: readonly FailureKind[] = ['unauthorized', 'forbidden', 'too-many-requests', 'timeout'];
const anyWithInput: readonly FailureKind[] = ['invalid'];
const anyWrite: readonly FailureKind[] = ['invalid', 'no-space', 'unavailable', 'unsupported-media-type'];
const anyWithBody: readonly FailureKind[] = ['too-large'];

function failureResponses(operation: Operation): Record<string, object> {
  const { method, params, query, headers } = operation;
  const kinds = [
    ...operation.failures,
    ...anyOperation,
    ...((params ?? query ?? headers) ? anyWithInput : []),
    ...(method === 'GET' ? [] : anyWrite),
    ...(operation.body === undefined ? [] : anyWithBody),
  ];
  const byStatus = new Map(kinds.map((kind) => [failureStatus[kind].status, kind]));
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, kind]) => [status, { $ref: `#/components/responses/${kind}` }]),
    ),
    [internalFailure.status]: { $ref: '#/components/responses/internal' },
  };
}

function failureResponse(meaning: string, failure: ThvError | undefined): object {
  return {
    description: meaning,
    content: {
      'text/plain': { schema: { type: 'string' }, examples: { failure: { value: `${meaning}\n` } } },
      [problemMediaType]: {
        schema: schemaOf(Problem, 'output'),
        examples: { failure: { value: writeProblem(failure) } },
      },
    },
  };
}

const toReference = { uri: (id: string) => `#/components/schemas/${id}` };

/** The named schemas. All other schemas refer to them. */
function componentSchemas(): Record<string, object> {
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    ...toReference,
    io: 'output',
    unrepresentable: 'any',
  });
  // Sorted, because the registry has them in the order in which modules were loaded.
  const sorted = Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([id, schema]) => [id, withoutIdentity(schema)]));
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  const id = z.globalRegistry.get(schema)?.id;
  if (id !== undefined) return { $ref: toReference.uri(id) };
  return withoutIdentity(z.toJSONSchema(schema, { io, ...toReference, unrepresentable: 'any' }));
}

/** Named schemas are components, so schemas that refer to them do not contain them again. */
function withoutIdentity(schema: object): object {
  const { $schema, $id, $defs, ...rest } = schema as Record<string, unknown>;
  void [$schema, $id, $defs];
  return JSON.parse(JSON.stringify(rest).replaceAll('"#/$defs/', `"${toReference.uri('')}`)) as object;
}
