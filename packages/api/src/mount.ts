import type { Operation, OperationInput, OperationResult } from '@toolhive/contract/operation';
import { apiBase, progressMediaType } from '@toolhive/contract/wire';
import type { ProgressLine } from '@toolhive/contract/wire';
import { messageOf } from '@toolhive/contract/failure';
import type { Context, Hono } from 'hono';
import type { Logger } from 'pino';
import { expectedFailure } from './failures.ts';
import { readJson } from './guards.ts';

/** What a handler may use beside its input. */
export interface Call {
  /** Tells whoever listens what a long operation is doing. */
  report: (message: string) => void;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
}

/** What a handler of a long operation gives back: the answer now, and the rest to follow. */
export interface Followed<Result> {
  result: Result;
  follow: (call: Call) => Promise<void>;
}

type Handler<O extends Operation> = (
  input: OperationInput<O>,
  call: Call,
) => Promise<O['progress'] extends true ? Followed<OperationResult<O>> : OperationResult<O>>;

/** Mounts operations on an application: routing, validation and answers come from their declarations. */
export function mounter(app: Hono, log: Logger) {
  return function mount<O extends Operation>(operation: O, handler: Handler<O>): void {
    const answer = async (context: Context): Promise<Response> => {
      const input = await readInput(operation, context);
      if (operation.progress !== true) {
        const result = await (handler as Handler<Operation>)(input as never, silentCall(context));
        return respond(context, operation, result);
      }
      const followed = handler as unknown as FollowedHandler; // `progress: true` makes it one
      if (context.req.header('accept')?.includes(progressMediaType) === true) {
        return progressStream(context, log, (call) => followed(input, call));
      }
      const { result } = await followed(input, silentCall(context));
      return respond(context, operation, result);
    };
    for (const path of pathsOf(operation)) app.on(operation.method, path, answer);
  };
}

type FollowedHandler = (input: unknown, call: Call) => Promise<Followed<unknown>>;

/** The routes of an operation, as Hono writes them. */
export function pathsOf(operation: Operation): string[] {
  const path = operation.path.replace(/\{(\w+)\}/g, ':$1');
  return operation.alsoAtRoot === true ? [`${apiBase}${path}`, path] : [`${apiBase}${path}`];
}

async function readInput(operation: Operation, context: Context): Promise<unknown> {
  return {
    params: operation.params?.parse(context.req.param()),
    query: operation.query?.parse(context.req.query()),
    body: operation.body?.parse(await readJson(context)),
  };
}

function silentCall(context: Context): Call {
  return { report: () => {}, signal: context.req.raw.signal };
}

function respond(context: Context, { success }: Operation, result: unknown): Response {
  if (success.body === undefined) return context.body(null, success.status as 202);
  if (success.body === 'text') return context.text(String(result), success.status as 200);
  return context.json(result as object, success.status as 200);
}

/** Runs a long operation to its end while the caller reads along, a JSON object a line. */
function progressStream(
  context: Context,
  log: Logger,
  begin: (call: Call) => Promise<Followed<unknown>>,
): Response {
  const { signal } = context.req.raw;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const write = (line: ProgressLine<unknown>): void => {
    void writer.write(encoder.encode(`${JSON.stringify(line)}\n`)).catch(() => {}); // nobody reads any more
  };
  const call: Call = { report: (progress) => write({ progress }), signal };
  const run = async (): Promise<void> => {
    try {
      const { result, follow } = await begin(call);
      await follow(call);
      write({ result: result ?? null });
    } catch (thrown) {
      write({ failure: describeFailure(thrown, log) });
    } finally {
      await writer.close().catch(() => {}); // nobody reads any more
    }
  };
  void run();
  return context.body(readable, 200, { 'content-type': progressMediaType });
}

function describeFailure(thrown: unknown, log: Logger) {
  const failure = expectedFailure(thrown);
  if (failure !== undefined) return { kind: failure.kind, message: failure.message, hint: failure.hint };
  log.error({ err: thrown, reason: messageOf(thrown) }, 'unexpected failure');
  return { kind: 'internal' as const, message: 'internal server error' };
}
