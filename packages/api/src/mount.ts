import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Operation, OperationInput, OperationResult, Sent } from '@toolhive/contract/operation';
import { apiBase, internalFailure, progressMediaType } from '@toolhive/contract/wire';
import type { FailureLine, ProgressLine } from '@toolhive/contract/wire';
import { cancelled, messageOf, timedOut } from '@toolhive/contract/failure';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Principal } from '@toolhive/proxy/principal';
import type { Context, Hono } from 'hono';
import type { Logger } from 'pino';
import type { ApiAuthorization, IsVisible } from './authorization.ts';
import { expectedFailure, parseInput, plainText } from './failures.ts';
import { fixedHeaders, readJson } from './guards.ts';
import { refuseMisspelled } from './misspelled.ts';
import type { ZodType } from 'zod';

/** The context of a handler. */
export interface Call {
  /** The request and the response of an operation whose body and response pass through. */
  exchange?: { request: IncomingMessage; response: ServerResponse; principal: Principal | undefined };
  /** Reports the progress of a long operation. */
  report: (message: string) => void;
  /** Whether a text is to be sent as JSON lines. */
  asLines: boolean;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
  /** Aborts the signal of a HEAD request, whose caller wants nothing else. */
  giveUp: () => void;
  /** Whether the caller may read a workload or a group. */
  isVisible: IsVisible;
  /** The address that the caller used. */
  host: string;
  /** The connection of the caller, unless the request came without one. */
  socket: Socket | undefined;
  /** Added to those of a successful answer. */
  responseHeaders: Headers;
}

/** The result of a handler of a long operation: the response, and the remaining work. */
export interface Followed<Result> {
  result: Result;
  follow: (call: Call) => Promise<void>;
}

type Handler<O extends Operation> = (
  input: OperationInput<O>,
  call: Call,
) => Promise<
  O['progress'] extends true
    ? Followed<OperationResult<O>>
    : // A text may come piece by piece.
      OperationResult<O> extends string
      ? string | AsyncIterable<string>
      : OperationResult<O>
>;

/** The time limit of operations that neither stream nor install a server. */
const timeLimitMs = 60_000;
/** The interval of heartbeats in a stream, shorter than the idle timeouts of proxies. */
const heartbeatMs = 15_000;

/** Mounts operations on an application: routing, validation and answers come from their declarations. */
export function mounter(
  app: Hono,
  { log, record, authorization }: { log: Logger; record: RecordCall; authorization: ApiAuthorization },
) {
  return function mount<O extends Operation>(operation: O, handler: Handler<O>): void {
    const recorded = async (context: Context): Promise<Response> => {
      const call: RecordedCall = {
        operation,
        context,
        startMs: performance.now(),
        input: undefined,
        result: undefined,
      };
      try {
        const response = await answered(context, call);
        if (!isGoingOn(response)) record(call, undefined);
        return response;
      } catch (thrown) {
        record(call, thrown);
        throw thrown;
      }
    };
    const answered = async (context: Context, recorded: RecordedCall): Promise<Response> => {
      context.set('route', operation.path);
      const input = await readInput(operation, context);
      recorded.input = input;
      await authorization.require(context, operation, input);
      const isVisible = authorization.visibility(context);
      if (operation.progress !== true) {
        const call = silentCall(context, isVisible, wantsLines(operation, context, input));
        if (operation.passThrough === true) {
          await passThrough(context, (exchange) =>
            (handler as (input: unknown, call: Call) => Promise<unknown>)(input, { ...call, exchange }),
          );
          return RESPONSE_ALREADY_SENT;
        }
        const work = (handler as (input: unknown, call: Call) => Promise<unknown>)(input, call);
        return withHeaders(respond(context, operation, await withinTime(work), call), call);
      }
      const followed = handler as unknown as FollowedHandler; // `progress: true` makes it one
      if (context.req.header('accept')?.includes(progressMediaType) === true) {
        return progressStream({ context, log, isVisible }, async (call) => {
          try {
            const begun = await followed(input, call);
            recorded.result = begun.result;
            record(recorded, undefined);
            return begun;
          } catch (thrown) {
            record(recorded, thrown);
            throw thrown;
          }
        });
      }
      const call = silentCall(context, isVisible, wantsLines(operation, context, input));
      const { result } = await followed(input, call);
      recorded.result = result;
      return respond(context, operation, result, call);
    };
    const answer = (context: Context): Promise<Response> =>
      recorded(context).catch((thrown: unknown) => {
        throw unlessGivenUp(thrown, context.req.raw.signal);
      });
    for (const path of pathsOf(operation)) app.on(operation.method, path, answer);
  };
}

/** Hands over a request that nothing has read, and returns when its response has ended. */
async function passThrough(
  context: Context,
  handle: (exchange: NonNullable<Call['exchange']>) => Promise<unknown>,
): Promise<void> {
  const { incoming, outgoing } = context.env as { incoming: IncomingMessage; outgoing: ServerResponse }; // from @hono/node-server
  for (const [name, value] of Object.entries(fixedHeaders)) outgoing.setHeader(name, value);
  const ended = new Promise<void>((resolve) => {
    outgoing.once('close', resolve);
  });
  await handle({
    request: incoming,
    response: outgoing,
    principal: context.get('principal') as Principal | undefined,
  });
  await ended;
}

/** A call of an operation, for the audit log. */
export interface RecordedCall {
  operation: Operation;
  context: Context;
  startMs: number;
  /** The parsed input, if any. */
  input: Input | undefined;
  /** The first result of a long operation, such as the workload that it created. */
  result: unknown;
}

/** Takes a call when it has ended, or when a long operation has begun. */
export type RecordCall = (call: RecordedCall, thrown: unknown) => void;

interface Input {
  params: Readonly<Record<string, unknown>> | undefined;
  query: unknown;
  headers: unknown;
  body: unknown;
}

/** Whether a response is a progress stream, which is recorded when the operation has begun. */
function isGoingOn({ headers }: Response): boolean {
  return headers.get('content-type') === progressMediaType;
}

type FollowedHandler = (input: unknown, call: Call) => Promise<Followed<unknown>>;

/** The routes of an operation, as Hono writes them. */
export function pathsOf(operation: Operation): string[] {
  const path = operation.path.replace(/\{(\w+)\}/g, ':$1');
  return operation.alsoAtRoot === true ? [`${apiBase}${path}`, path] : [`${apiBase}${path}`];
}

async function readInput(operation: Operation, context: Context): Promise<Input> {
  return {
    params: parseInput(operation.params, context.req.param(), 'parameters') as Input['params'], // an object
    query: parseInput(operation.query, context.req.query(), 'parameters'),
    headers: parseInput(operation.headers, context.req.header(), 'parameters'),
    body: operation.body && parseBody(operation.body, await readJson(context)),
  };
}

function parseBody(schema: ZodType, value: unknown): unknown {
  const parsed = parseInput(schema, value, 'body');
  refuseMisspelled(schema, value);
  return parsed;
}

function silentCall(context: Context, isVisible: Call['isVisible'], asLines: boolean): Call {
  const { raw, method } = context.req;
  const over = new AbortController();
  return {
    report: () => {},
    signal: method === 'HEAD' ? AbortSignal.any([raw.signal, over.signal]) : raw.signal,
    giveUp: () => over.abort(),
    isVisible,
    asLines,
    host: context.req.header('host') ?? '',
    socket: (context.env as { incoming?: IncomingMessage } | undefined)?.incoming?.socket, // from @hono/node-server
    responseHeaders: new Headers(),
  };
}

/** Whether a caller asks for a text as JSON lines, in the query or by the media type. */
function wantsLines({ success }: Operation, context: Context, { query }: Input): boolean {
  if (success.lines === undefined) return false;
  const { format } = (query ?? {}) as { format?: string | undefined };
  if (format !== undefined) return format === 'ndjson';
  return context.req.header('accept')?.includes(progressMediaType) === true;
}

/** An error of work that was canceled because the caller disconnected is not a fault. */
function unlessGivenUp(thrown: unknown, signal: AbortSignal): unknown {
  const isEnded = thrown === signal.reason || (thrown instanceof Error && thrown.name === 'AbortError');
  return signal.aborted && isEnded ? cancelled('the caller went away', { cause: thrown }) : thrown;
}

/** Limits the time until the response. The work itself continues after the limit. */
async function withinTime<Result>(work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(timedOut(`this took longer than ${timeLimitMs / 1000} seconds`, { hint: 'try again' })),
    timeLimitMs,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

function withHeaders(response: Response, { responseHeaders }: Call): Response {
  for (const [name, value] of responseHeaders) response.headers.append(name, value);
  return response;
}

function respond(
  context: Context,
  { success }: Operation,
  result: unknown,
  call: Pick<Call, 'signal' | 'giveUp' | 'asLines'>,
): Response {
  const { status, body } = success;
  if (body === undefined) return context.body(null, status as 202);
  if (body === 'text') {
    const mediaType = call.asLines ? progressMediaType : plainText;
    if (typeof result === 'string') return context.body(result, status as 200, { 'content-type': mediaType });
    return streamed(context, mediaType, result as AsyncIterable<string>, call);
  }
  if ('events' in body) {
    const events = result as AsyncIterable<Sent<{ type: string }>>;
    return streamed(context, 'text/event-stream', asServerSentEvents(events), call, ': alive\n\n');
  }
  return context.json(result as object, status as 200);
}

async function* asServerSentEvents(events: AsyncIterable<Sent<{ type: string }>>): AsyncGenerator<string> {
  for await (const { id, event } of events) {
    yield `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  }
}

/** Sends pieces as they come and as fast as the caller reads them; ends when either side does. */
function streamed(
  context: Context,
  mediaType: string,
  pieces: AsyncIterable<string>,
  { signal, giveUp }: Pick<Call, 'signal' | 'giveUp'>,
  heartbeat?: string,
): Response {
  if (context.req.method === 'HEAD') {
    // It has no body, but something waits for its reader already, and ends only when the reader begins and gives up.
    giveUp();
    ended(pieces).catch(() => {}); // the response says nothing about it
    return context.body(null, 200, { 'content-type': mediaType });
  }
  const encoder = new TextEncoder();
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const beat = (): void => {
    if (heartbeat !== undefined) writer.write(encoder.encode(heartbeat)).catch(() => {});
  };
  const timer = setInterval(beat, heartbeatMs).unref();
  const pump = async (): Promise<void> => {
    try {
      beat(); // sends the headers immediately, so that the client knows that the stream is open
      for await (const piece of pieces) {
        if (signal.aborted) return;
        await writer.write(encoder.encode(piece));
      }
    } finally {
      clearInterval(timer);
      await writer.close();
    }
  };
  pump().catch(() => {}); // the client has disconnected
  return context.body(readable, 200, { 'content-type': mediaType });
}

async function ended(pieces: AsyncIterable<string>): Promise<void> {
  for await (const _piece of pieces) return;
}

/** Runs a long operation, and streams its progress as one JSON object per line. */
function progressStream(
  { context, log, isVisible }: { context: Context; log: Logger } & Pick<Call, 'isVisible'>,
  begin: (call: Call) => Promise<Followed<unknown>>,
): Response {
  const { signal } = context.req.raw;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const write = (line: ProgressLine<unknown>): void => {
    void writer.write(encoder.encode(`${JSON.stringify(line)}\n`)).catch(() => {}); // the client has disconnected
  };
  const call: Call = { ...silentCall(context, isVisible, false), report: (progress) => write({ progress }) };
  const run = async (): Promise<void> => {
    try {
      const { result, follow } = await begin(call);
      if (result !== undefined) write({ accepted: result });
      await follow(call);
      write({ result: result ?? null });
    } catch (thrown) {
      write({ failure: describeFailure(unlessGivenUp(thrown, signal), log) });
    } finally {
      await writer.close().catch(() => {}); // the client has disconnected
    }
  };
  run().catch((error: unknown) => log.error({ err: error }, 'a response could not be written'));
  return context.body(readable, 200, { 'content-type': progressMediaType });
}

function describeFailure(thrown: unknown, log: Logger): FailureLine {
  const failure = expectedFailure(thrown);
  if (failure !== undefined) {
    const { kind, message, hint, fixes, problems } = failure;
    return {
      kind,
      message,
      hint,
      ...(fixes.length === 0 ? {} : { fixes }),
      ...(problems.length === 0 ? {} : { errors: problems }),
    };
  }
  log.error({ err: thrown, reason: messageOf(thrown) }, 'unexpected failure');
  return { kind: 'internal', message: internalFailure.text };
}
