import { fileURLToPath } from 'node:url';
import { openApiDocument } from '@toolhive/contract/openapi';
import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import { failureKinds } from '@toolhive/contract/failure';
import { Problem } from '@toolhive/contract/problem';
import { problemMediaType, progressMediaType } from '@toolhive/contract/wire';
import * as z from 'zod';
import { pathsOf } from '../mount.ts';
import type { Reply } from './exchange.ts';

/** What was asked for: the method and the target of the first line. */
interface Asked {
  method: string;
  target: string;
}

/** A value that must never be told. */
export const canary = 'canary-5e1f0d7c';

/** What is wrong with an answer over TCP, if anything: every rule that holds whatever was asked. */
export function breachesOf(asked: Asked, reply: Reply): string[] {
  const { status, headers, text } = reply;
  const documented = documentedFor(asked);
  const isFault = asked.method === 'HEAD' ? notUnderstood.has(status) : notUnderstood.get(status) === text;
  // Behind the relay, a workload answers as MCP says.
  const isRelayed = documented.operations.some(({ passThrough }) => passThrough === true);
  const isExpected = isRelayed || documented.statuses.has(status) || isFault;
  return [
    ...(isExpected ? [] : [`status ${status} is not documented: ${text.slice(0, 200)}`]),
    ...Object.entries(fixedHeaders).flatMap(([name, value]) =>
      headers[name]?.startsWith(value) === true
        ? []
        : [`the header ${name} is ${headers[name] ?? 'missing'}`],
    ),
    ...Object.keys(headers)
      .filter((name) => name.startsWith('access-control-') || name === 'x-powered-by')
      .map((name) => `the header ${name} is there`),
    ...(status >= 400 && asked.method !== 'HEAD' && !isRelayed ? wrongInFailure(reply) : []),
    ...(status < 300 && asked.method !== 'HEAD' && !isRelayed
      ? wrongInSuccess(documented.operations, reply)
      : []),
    ...secretsIn(text).map((what) => `the answer tells ${what}`),
  ];
}

const fixedHeaders = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** Answers to what is no request that could be routed, whatever its first line says. */
const notUnderstood = new Map([
  [400, 'the request is not valid HTTP\n'],
  [408, 'the request was not received in time\n'],
  [431, 'the headers are larger than accepted\n'],
]);

interface Documented {
  statuses: ReadonlySet<number>;
  operations: Operation[];
}

const document = openApiDocument() as {
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, object> }>>;
};

/** Possible whatever is asked, but not with a method that only reads. */
const anyStatus = [403, 429];
const anyWriteStatus = [415];

function documentedFor({ method, target }: Asked): Documented {
  const path = pathOf(target);
  const isRead = method === 'GET' || method === 'HEAD';
  const always = isRead ? anyStatus : [...anyStatus, ...anyWriteStatus];
  const served = Object.values<Operation>(operations)
    .filter(({ socketOnly }) => socketOnly !== true)
    .flatMap((operation) => pathsOf(operation).map((route) => ({ operation, route })))
    .filter(({ route }) => new RegExp(`^${route.replace(/:\w+/g, '[^/]+')}$`).test(path));
  const asked = served.filter(({ operation }) => operation.method === (method === 'HEAD' ? 'GET' : method));
  if (asked.length === 0) {
    const isDocument = path === '/api/openapi.json' && isRead;
    const own = isDocument ? 200 : served.length > 0 ? 405 : 404;
    return { statuses: new Set([...always, own]), operations: [] };
  }
  const statuses = asked.flatMap(({ operation, route }) => {
    const template = route.replace(/:(\w+)/g, '{$1}');
    const { responses } = document.paths[template]?.[operation.method.toLowerCase()] ?? { responses: {} };
    return Object.keys(responses).map(Number);
  });
  // A fault of the daemon is documented everywhere, and is none of the things that may happen.
  const possible = statuses.filter((status) => status !== 500);
  return { statuses: new Set([...always, ...possible]), operations: asked.map(({ operation }) => operation) };
}

function pathOf(target: string): string {
  const { pathname } = URL.parse(target.startsWith('/') ? `http://localhost${target}` : target) ?? {
    pathname: '',
  };
  try {
    return decodeURI(pathname.replaceAll('%25', '%2525'));
  } catch {
    return pathname;
  }
}

const maxFailureLength = 4096;

function wrongInFailure({ status, headers, text }: Reply): string[] {
  if (headers['content-type'] === problemMediaType) {
    const parsed = Problem.safeParse(JSON.parse(text));
    if (!parsed.success) return [`the problem does not fit its schema: ${z.prettifyError(parsed.error)}`];
    return parsed.data.status === status ? [] : [`the problem has the status ${parsed.data.status}`];
  }
  const wrong = (isWrong: boolean, what: string): string[] => (isWrong ? [`the failure ${what}`] : []);
  return [
    ...wrong(headers['content-type'] !== 'text/plain; charset=utf-8', `is ${headers['content-type']}`),
    ...wrong(text.length > maxFailureLength, `is ${text.length} characters long`),
    ...wrong(
      !text.endsWith('\n') || text.trim() === '',
      `says nothing: ${JSON.stringify(text.slice(0, 80))}`,
    ),
    // eslint-disable-next-line no-control-regex
    ...wrong(/[\0-\x08\x0b-\x1f\x7f-\x9f]/.test(text), `controls terminals: ${JSON.stringify(text)}`),
    ...wrong(
      !/^[^\n]+\n(hint: [^\n]+\n)?$/.test(text),
      `is no line with perhaps a hint: ${JSON.stringify(text)}`,
    ),
  ];
}

function wrongInSuccess(possible: readonly Operation[], reply: Reply): string[] {
  const { status, headers, text } = reply;
  const type = headers['content-type'] ?? '';
  const fitting = possible.filter(
    ({ success, progress }) => success.status === status || (progress === true && type === progressMediaType),
  );
  const complaints = fitting.map(({ success, progress }) => {
    if (progress === true && type === progressMediaType) return wrongInProgress(success.body, text);
    if (success.body === undefined) return text === '' ? [] : [`a body that is not documented: ${text}`];
    if (success.body === 'text') return wrongInText(type, text);
    if ('events' in success.body) return type === 'text/event-stream' ? [] : [`a stream is ${type}`];
    return wrongInJson(success.body, type, text);
  });
  return complaints.some((complaint) => complaint.length === 0) ? [] : (complaints[0] ?? []);
}

/** Logs are also available as JSON lines. */
function wrongInText(type: string, text: string): string[] {
  if (type === 'text/plain; charset=utf-8') return [];
  if (type !== progressMediaType) return [`a text is ${type}`];
  for (const line of text.split('\n').filter((each) => each !== '')) JSON.parse(line);
  return [];
}

function wrongInJson(schema: z.ZodType, type: string, text: string): string[] {
  if (type !== 'application/json') return [`JSON is ${type}`];
  const parsed = schema.safeParse(JSON.parse(text));
  return parsed.success ? [] : [`the answer does not fit its schema: ${z.prettifyError(parsed.error)}`];
}

const Failure = z.object({
  kind: z.enum(failureKinds),
  message: z.string().min(1),
  hint: z.string().optional(),
  errors: Problem.shape.errors,
});

function wrongInProgress(body: Operation['success']['body'], text: string): string[] {
  const result = body instanceof z.ZodType ? body : z.null();
  const Line = z.union([
    z.strictObject({ progress: z.string() }),
    z.strictObject({ accepted: result }),
    z.strictObject({ result }),
    z.strictObject({ failure: Failure }),
  ]);
  const whole = text.slice(0, text.lastIndexOf('\n') + 1); // whoever leaves early has half a line
  return whole
    .split('\n')
    .filter((line) => line !== '')
    .filter((line) => !Line.safeParse(JSON.parse(line)).success)
    .map((line) => `a line of progress is wrong: ${line.slice(0, 300)}`);
}

const repository = fileURLToPath(new URL('../../../..', import.meta.url));

function secretsIn(text: string): string[] {
  return [
    ...(text.includes(canary) ? ['a secret'] : []),
    ...(text.includes(repository) || text.includes('node_modules') ? ['where its source is'] : []),
    ...(/\n\s+at .*:\d+:\d+/.test(text) || text.includes('node:internal') ? ['a stack'] : []),
  ];
}
