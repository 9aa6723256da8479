import { ThvError, unsupported } from './failure.ts';
import { LineSplitter } from './line-splitter.ts';
import type { Operation, OperationCall, OperationResult, Sent } from './operation.ts';
import { operations } from './operations/operations.ts';
import type { OperationId, Operations } from './operations/operations.ts';
import { apiBase, problemMediaType, progressMediaType, readFailure, readProblem } from './wire.ts';
import type { FailureLine, ProgressLine } from './wire.ts';
import type { Problem } from './schemas/problem.ts';

/** Sends an HTTP request, for example with `fetch`, or with `node:http` over a Unix socket. */
export type Send = (request: {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
  signal: AbortSignal | undefined;
}) => Promise<{ status: number; contentType: string | undefined; body: AsyncIterable<string> }>;

export interface CallOptions {
  signal?: AbortSignal;
  /**
   * Receives the progress of a long operation. With this callback, the call returns when the operation is complete, not when
   * the operation was accepted, and throws if the operation fails.
   */
  onProgress?: (message: string) => void;
  /** With `onProgress`: receives the response as soon as the operation is accepted. */
  onAccepted?: (answer: unknown) => void;
  /** Receives a text in pieces. The call then returns an empty text. */
  onText?: (piece: string) => void;
}

/** The API as functions, one for each operation. Failures are thrown as the `ThvError` of the daemon. */
export type Client = {
  [Id in OperationId as Operations[Id] extends { passThrough: true } ? never : Id]: (
    call: OperationCall<Operations[Id]>,
    options?: CallOptions,
  ) => Promise<OperationResult<Operations[Id]>>;
};

/**
 * Creates a client that sends its requests with a function. With `offersAll`, the requests reach an address at which a daemon
 * offers all operations of its version.
 */
export function createClient(send: Send, { offersAll = false }: { offersAll?: boolean } = {}): Client {
  const entries = Object.entries(operations).map(([id, operation]) => [
    id,
    async (call: AnyCall, options?: CallOptions) => {
      try {
        return await callOperation(send, operation, call, options ?? {});
      } catch (error) {
        throw offersAll && isUnknown(error, operation, call) ? otherVersion(operation, error) : error;
      }
    },
  ]);
  // Each function calls the operation of the same name, as the mapped type states.
  return Object.fromEntries(entries) as Client;
}

interface AnyCall {
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | undefined>;
  headers?: Record<string, string | undefined>;
  body?: unknown;
}

async function callOperation(
  send: Send,
  operation: Operation,
  call: AnyCall,
  options: CallOptions,
): Promise<unknown> {
  const follow = operation.progress === true && options.onProgress !== undefined;
  const response = await send({
    method: operation.method,
    path: pathOf(operation, call),
    headers: {
      ...withoutAbsent(call.headers),
      accept: `${follow ? progressMediaType : 'application/json, text/plain, text/event-stream'}, ${problemMediaType}`,
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: call.body === undefined ? undefined : JSON.stringify(call.body),
    signal: options.signal,
  });
  if (response.status >= 400) {
    const text = await textOf(response.body);
    throw response.contentType === problemMediaType
      ? readProblem(JSON.parse(text) as Problem) // written by `writeProblem`
      : readFailure(response.status, text);
  }
  if (follow) return followProgress(response.body, options);
  const { body } = operation.success;
  if (typeof body === 'object' && 'events' in body) return eventsOf(response.body);
  if (body === 'text' && options.onText) return tellText(response.body, options.onText);
  const text = await textOf(response.body);
  if (body === undefined) return undefined;
  // The daemon has validated the response. Validating it again would slow down every command.
  return body === 'text' ? text : JSON.parse(text);
}

/** Whether the daemon does not know the path. Another object that it does not find has no path in its message. */
function isUnknown(error: unknown, operation: Operation, call: AnyCall): boolean {
  const [path] = pathOf(operation, call).split('?');
  return error instanceof ThvError && error.message === `${path} not found`;
}

function otherVersion({ method, path }: Operation, cause: unknown): ThvError {
  return unsupported(`the daemon has no operation ${method} ${path}, because it is of another version`, {
    hint: 'to end the daemon, run thv serve and press Ctrl+C. Then try again, which starts the installed version',
    cause,
  });
}

function pathOf(operation: Operation, call: AnyCall): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_match, name: string) =>
    encodeURIComponent(String(call.params?.[name])),
  );
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) query.set(name, String(value));
  }
  return `${apiBase}${path}${query.size === 0 ? '' : `?${query.toString()}`}`;
}

async function followProgress(
  body: AsyncIterable<string>,
  { onProgress, onAccepted }: CallOptions,
): Promise<unknown> {
  const splitter = new LineSplitter();
  for await (const chunk of body) {
    for (const text of splitter.add(chunk)) {
      const line = JSON.parse(text) as ProgressLine<unknown>; // written by `progressStream` of the API
      if ('progress' in line) onProgress?.(line.progress);
      else if ('accepted' in line) onAccepted?.(line.accepted);
      else if ('result' in line) return line.result;
      else throw failureOf(line.failure);
    }
  }
  throw new Error('the daemon stopped before the operation was complete');
}

function failureOf({ kind, message, hint, fixes, errors }: FailureLine): Error {
  return kind === 'internal'
    ? new Error(message)
    : new ThvError(kind, message, { hint, fixes, problems: errors });
}

async function tellText(body: AsyncIterable<string>, onText: (piece: string) => void): Promise<string> {
  for await (const piece of body) onText(piece);
  return '';
}

/** Reads server-sent events in the daemon's format: one line of data each. */
async function* eventsOf(body: AsyncIterable<string>): AsyncGenerator<Sent<unknown>, void, void> {
  const splitter = new LineSplitter();
  let fields = new Map<string, string>();
  for await (const piece of body) {
    for (const line of splitter.add(piece)) {
      if (line !== '') {
        fields.set(...split(line));
        continue;
      }
      const data = fields.get('data');
      if (data !== undefined) yield { id: fields.get('id') ?? '', event: JSON.parse(data) };
      fields = new Map();
    }
  }
}

function split(line: string): [string, string] {
  const colon = line.indexOf(': ');
  return [line.slice(0, colon), line.slice(colon + 2)];
}

function withoutAbsent(headers: AnyCall['headers'] = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

async function textOf(body: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const chunk of body) text += chunk;
  return text;
}
