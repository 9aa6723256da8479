import { openApiDocument } from '@toolhive/contract/openapi';
import { valuesOf } from '@toolhive/contract/testing/schema-values';
import type { JsonSchema, SchemaContext } from '@toolhive/contract/testing/schema-values';
import * as fc from 'fast-check';
import { bodiesOf } from './bodies.ts';
import { knownNames, lines, mostly, oddSegments, oddValues, words, wordsFor } from './words.ts';
import type { Target } from './words.ts';

/** A request, as it goes over the wire. */
export interface FuzzRequest {
  method: string;
  /** The path and the query, as they stand in the first line. */
  target: string;
  bytes: Buffer;
  /** It never gets whole: an answer is welcome, and none is no fault. */
  isBroken: boolean;
}

interface DocumentedOperation {
  method: string;
  path: string;
  parameters: { name: string; in: 'path' | 'query' | 'header'; schema: JsonSchema }[];
  body: JsonSchema | undefined;
}

interface OpenApi {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, JsonSchema> };
}

interface Described {
  parameters: DocumentedOperation['parameters'];
  requestBody?: { content: { 'application/json': { schema: JsonSchema } } };
}

/** Requests of all kinds for all operations of the document: right ones, nearly right ones and absurd ones. */
export function requestsTo(target: Target): fc.Arbitrary<FuzzRequest> {
  const document = openApiDocument() as OpenApi;
  const context = { schemas: document.components.schemas, words: wordsFor(target), usual };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters, requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      parameters,
      body: requestBody?.content['application/json'].schema,
    })),
  );
  return fc.oneof(
    ...operations.map((operation) => ({
      weight: operation.body === undefined ? 1 : 4, // there is more to get wrong
      arbitrary: requestsFor(operation, target, context),
    })),
  );
}

/** Without them a workload is nothing but refused. */
const usual = ['image', 'name', 'cmd_arguments', 'cmd_args'];

function requestsFor(
  operation: DocumentedOperation,
  target: Target,
  context: SchemaContext,
): fc.Arbitrary<FuzzRequest> {
  const parts = {
    method: mostly(9, fc.constant(operation.method), methods),
    path: pathsOf(operation, context),
    query: queriesOf(operation, context),
    headers: headersFor(target),
    body: bodiesOf(operation.body, context),
    framing: mostly(15, fc.constant('length' as const), fc.constantFrom(...framings)),
  };
  return fc.record(parts).map(({ method, path, query, headers, body, framing }) => {
    const uri = `${path}${query}`;
    const hasBody = method !== 'GET' && method !== 'HEAD' ? true : body.length % 7 === 0;
    const sent = hasBody ? framed(body, framing) : { fields: [], content: Buffer.alloc(0), isBroken: false };
    const lines = [`${method} ${uri} HTTP/1.1`, ...headers, ...sent.fields, 'Connection: close', '', ''];
    const bytes = Buffer.concat([Buffer.from(lines.join('\r\n')), sent.content]);
    return shown({ method, target: uri, bytes, isBroken: sent.isBroken });
  });
}

/** So that a counterexample can be read, and sent again. */
function shown(request: FuzzRequest): FuzzRequest {
  const text = JSON.stringify(request.bytes.toString('latin1'));
  const isLong = text.length > 3000;
  const short = isLong ? `${text.slice(0, 3000)}… (${request.bytes.length} bytes)` : text;
  return Object.defineProperty(request, fc.toStringMethod, { value: () => short });
}

const methods = fc.constantFrom(
  ...words`GET HEAD POST PUT DELETE PATCH OPTIONS TRACE QUERY PROPFIND CONNECT get`,
);

function pathsOf({ path, parameters }: DocumentedOperation, context: SchemaContext): fc.Arbitrary<string> {
  const segments = path.split('/').map((segment, index, all) => {
    const parameter = parameters.find(({ name }) => segment === `{${name}}`);
    if (parameter === undefined) return mostly(60, fc.constant(segment), fc.constantFrom(...oddSegments));
    return fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(...(knownNames[all[index - 1] ?? ''] ?? [parameter.name])) },
      { weight: 1, arbitrary: valuesOf(parameter.schema, context).map(encoded) },
      { weight: 2, arbitrary: fc.constantFrom(...oddSegments) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }).map(encoded) },
    );
  });
  const usual = fc.tuple(...segments).map((parts) => parts.join('/').replace(/^(?!\/)/, '/'));
  return mostly(
    40,
    usual,
    fc.constantFrom('*', '//', '/', '/api', '/api/openapi.json', 'x', 'http://127.0.0.1/health'),
  );
}

function encoded(value: unknown): string {
  return encodeURIComponent(String(value).toWellFormed());
}

function queriesOf({ parameters }: DocumentedOperation, context: SchemaContext): fc.Arbitrary<string> {
  const declared = parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, schema }) => {
      const value = fc.oneof(valuesOf(schema, context).map(encoded), fc.constantFrom(...oddValues));
      return value.map((text) => `${name}=${text}`);
    });
  const unknown = fc.constantFrom(...words`x=1 __proto__=1 constructor[a]=1 = & a %=% all group=a&group=b`);
  const pairs = fc.array(fc.oneof(...declared, ...declared, unknown), { minLength: 1, maxLength: 4 });
  const none = fc.constant('');
  const some = pairs.map((all) => `?${all.join('&')}`);
  return declared.length === 0 ? mostly(8, none, some) : mostly(2, some, none);
}

function headersFor({ port }: Target): fc.Arbitrary<string[]> {
  const own = `127.0.0.1:${port}`;
  const host = mostly(
    25,
    fc.constantFrom(own, `localhost:${port}`),
    fc.constantFrom(
      ...words`evil.invalid evil.invalid:${port} [::1] LOCALHOST ${own}@evil.invalid 127.0.0.1:99999 127.0.0.1:`,
      ...words`localhost. 0x7f.1 127.1 [ ] / __proto__ %31`,
      '',
      'a b',
      'x'.repeat(9000),
      `${own}\r\nHost: evil.invalid`,
    ),
  );
  const type = mostly(
    12,
    fc.constantFrom('application/json', 'application/json; charset=utf-8', 'Application/JSON;x=y'),
    fc.constantFrom(
      ...words`text/plain text/json application/jsonp application/x-www-form-urlencoded`,
      '',
      '\u0080',
      'application/json, text/plain',
      'application/json\t;',
      'multipart/form-data; boundary=x',
      'application/json\r\nContent-Type: text/plain',
    ),
  );
  const accept = fc.constantFrom(
    ...words`*/* application/json application/x-ndjson text/event-stream`,
    '',
    'x'.repeat(3000),
  );
  const ids = [...words`0 1 -1 99999999 x 1e9 000000000000001`, 'y'.repeat(41), '\u00ff'];
  const origins = [
    ...words`null http://${own} https://evil.invalid http://localhost file:// http://${own}/`,
    '',
  ];
  const more = fc.constantFrom(
    ...ids.map((id) => `Last-Event-ID: ${id}`),
    ...origins.map((origin) => `Origin: ${origin}`),
    ...oddHeaders,
    'X-Folded: a\r\n b',
    'X-Odd: \u0001',
    `X-Large: ${'x'.repeat(7000)}`,
    'Upgrade: websocket\r\nConnection: Upgrade',
    'X-Many: 1\r\n'.repeat(500).trimEnd(),
  );
  const others = mostly(2, fc.constant<string[]>([]), fc.array(more, { minLength: 1, maxLength: 3 }));
  return fc
    .tuple(host, type, accept, others)
    .map(([name, media, accepted, rest]) => [
      `Host: ${name}`,
      `Content-Type: ${media}`,
      `Accept: ${accepted}`,
      ...rest,
    ]);
}

const oddHeaders = lines`
  Expect: 100-continue
  Expect: nonsense
  Expect:
  Upgrade: h2c
  TE: trailers
  Cookie: a=b
  Range: bytes=0-1
  If-None-Match: *
  Content-Encoding: gzip
  Accept-Encoding: gzip
  Keep-Alive: timeout=5
  Authorization: Bearer x
  Authorization: Basic Og==
  X-Forwarded-Host: evil.invalid
  X-HTTP-Method-Override: DELETE
  Access-Control-Request-Method: POST
  Sec-Fetch-Site: cross-site
  __proto__: x
  constructor: x
  Bad Name: x
`;

const framings = ['chunked', 'short', 'long', 'truncated', 'bad chunk', 'both', 'twice', 'none'] as const;
type Framing = 'length' | (typeof framings)[number];

interface Framed {
  fields: string[];
  content: Buffer;
  isBroken: boolean;
}

/** How the end of a body is told; most of the ways are lies. */
function framed(body: Buffer, framing: Framing): Framed {
  const length = (bytes: number): string => `Content-Length: ${bytes}`;
  const chunked = 'Transfer-Encoding: chunked';
  const whole = Buffer.concat([
    Buffer.from(`${body.length.toString(16)}\r\n`),
    body,
    Buffer.from('\r\n0\r\n\r\n'),
  ]);
  const ways: Record<Framing, () => Framed> = {
    length: () => ({ fields: [length(body.length)], content: body, isBroken: false }),
    chunked: () => ({
      fields: [chunked],
      content: body.length === 0 ? Buffer.from('0\r\n\r\n') : whole,
      isBroken: false,
    }),
    short: () => ({ fields: [length(body.length >> 1)], content: body, isBroken: true }),
    long: () => ({ fields: [length(body.length + 10)], content: body, isBroken: true }),
    truncated: () => ({ fields: [chunked], content: whole.subarray(0, whole.length >> 1), isBroken: true }),
    'bad chunk': () => ({
      fields: [chunked],
      content: Buffer.concat([Buffer.from('zz\r\n'), body]),
      isBroken: true,
    }),
    both: () => ({ fields: [length(body.length), chunked], content: whole, isBroken: true }),
    twice: () => ({ fields: [length(body.length), length(body.length + 1)], content: body, isBroken: true }),
    none: () => ({ fields: [], content: body, isBroken: true }),
  };
  return ways[framing]();
}
