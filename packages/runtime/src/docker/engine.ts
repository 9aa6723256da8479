import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { readBounded } from '@toolhive/contract/bounded-read';
import {
  cancelled,
  conflict,
  forbidden,
  invalid,
  messageOf,
  notFound,
  ThvError,
  timedOut,
  unavailable,
  unsupported,
} from '@toolhive/contract/failure';
import * as z from 'zod';

/** A container engine that answered: its socket and its dialect of the Docker API. */
export interface Engine {
  kind: 'docker' | 'podman';
  socket: string;
  apiVersion: string;
  /** The version of Podman. Docker Engine does not tell its version in every response. */
  podmanVersion?: string;
}

/** One request to an engine. The path is without the version. */
export interface Call {
  method: 'GET' | 'HEAD' | 'POST' | 'DELETE';
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** A value to send as JSON, or a tar archive. */
  body?: { json: unknown } | { tar: Readable };
  signal?: AbortSignal;
  /**
   * How long the engine may take to start its response. The default is `CALL_TIMEOUT_MS`. A call without a limit does not
   * keep the process alive.
   */
  timeoutMs?: number | 'none';
}

const CALL_TIMEOUT_MS = 60_000;
const PING_TIMEOUT_MS = 5_000;
/** A pull or a build that says nothing for this long has died. */
const SILENCE_TIMEOUT_MS = 10 * 60_000;
/** The newest API version that this code supports. Engines refuse newer versions than their own. */
const NEWEST_API_MINOR = 47;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Asks whether an engine listens on the socket. Throws `forbidden` or `unavailable`. */
export async function connectEngine(socket: string, signal?: AbortSignal): Promise<Engine> {
  const response = await exchange(socket, {
    method: 'GET',
    path: '/_ping',
    timeoutMs: PING_TIMEOUT_MS,
    ...(signal && { signal }),
  });
  await textOf(response, socket);
  const minor = Number(/^1\.(\d+)$/.exec(String(response.headers['api-version']))?.[1] ?? NaN);
  if (Number.isNaN(minor)) throw unavailable(`the program at ${socket} is not a container engine`);
  const apiVersion = `1.${Math.min(minor, NEWEST_API_MINOR)}`;
  const podmanVersion = response.headers['libpod-api-version'];
  return typeof podmanVersion === 'string'
    ? { kind: 'podman', socket, apiVersion, podmanVersion }
    : { kind: 'docker', socket, apiVersion };
}

/** Makes one call and reads its JSON answer. A refusal becomes a `ThvError` of the kind that its status means. */
export async function callEngine<T>(engine: Engine, answer: z.ZodType<T>, call: Call): Promise<T> {
  const text = await textOf(await exchange(engine.socket, versioned(engine, call)), engine.socket);
  try {
    return answer.parse(text.trim() === '' ? undefined : JSON.parse(text)); // Podman ends empty answers with a newline
  } catch (error) {
    throw unavailable(`the container engine at ${engine.socket} returned an invalid response`, {
      cause: error,
    });
  }
}

/** Makes one call whose answer is a stream of bytes. */
export async function openStream(engine: Engine, call: Call): Promise<IncomingMessage> {
  return exchange(engine.socket, versioned(engine, call));
}

const ProgressLine = z.looseObject({
  id: z.string().optional(),
  status: z.string().optional(),
  stream: z.string().optional(),
  error: z.string().optional(),
  progressDetail: z.looseObject({ current: z.number().optional(), total: z.number().optional() }).optional(),
});

/** A progress report of a pull or a build. */
export type ProgressLine = z.infer<typeof ProgressLine>;

/** Makes one long call and yields the engine's reports, including `error` lines. Never throws for an `error` line. */
export async function* followProgress(engine: Engine, call: Call): AsyncGenerator<ProgressLine> {
  const response = await exchange(
    engine.socket,
    versioned(engine, { timeoutMs: SILENCE_TIMEOUT_MS, ...call }),
  );
  response.setTimeout(SILENCE_TIMEOUT_MS, () =>
    response.destroy(timedOut('the container engine stopped responding')),
  );
  try {
    for await (const line of createInterface({ input: response })) {
      if (line.trim() !== '') yield ProgressLine.parse(JSON.parse(line));
    }
    // readline ends silently when its input is destroyed, but a broken stream is not a complete one.
    if (response.errored) throw response.errored;
    if (!response.complete)
      throw unavailable(`the container engine at ${engine.socket} closed the connection early`);
  } catch (error) {
    throw explain(error, engine.socket, call.signal);
  } finally {
    response.destroy();
  }
}

/** Takes over a call's connection, to which the container's streams are attached. */
export async function hijack(engine: Engine, call: Call): Promise<{ socket: Socket; head: Buffer }> {
  const outgoing = send(engine.socket, {
    ...versioned(engine, call),
    headers: { Connection: 'Upgrade', Upgrade: 'tcp' },
  });
  return new Promise((resolve, reject) => {
    outgoing.on('upgrade', (_response, socket: Socket, head) => resolve({ socket, head }));
    outgoing.on('response', (response) => {
      refusal(response, engine.socket).then(reject, reject);
    });
    outgoing.on('error', (error) => reject(explain(error, engine.socket, call.signal)));
    outgoing.end();
  });
}

/** The system's code of an error, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** Whether this is the engine's (or our) refusal of the given kind. */
export function isFailure(error: unknown, kind: ThvError['kind']): boolean {
  return error instanceof ThvError && error.kind === kind;
}

function versioned(engine: Engine, call: Call): Call {
  return { ...call, path: `/v${engine.apiVersion}${call.path}` };
}

async function exchange(socket: string, call: Call): Promise<IncomingMessage> {
  const outgoing = send(socket, call);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve);
    outgoing.on('error', (error) => reject(explain(error, socket, call.signal)));
    if (call.body === undefined) outgoing.end();
    else if ('json' in call.body) outgoing.end(JSON.stringify(call.body.json));
    else {
      // An engine may answer and disconnect before reading the complete request. In that case its answer counts, not
      // the broken pipe.
      call.body.tar.on('error', (error) => outgoing.destroy(error));
      call.body.tar.pipe(outgoing);
    }
  });
  if ((response.statusCode ?? 500) >= 400) throw await refusal(response, socket);
  return response;
}

function send(socket: string, call: Call): ClientRequest {
  const query = new URLSearchParams(call.query).toString();
  const outgoing = request({
    socketPath: socket,
    method: call.method,
    path: query === '' ? call.path : `${call.path}?${query}`,
    headers: { Host: 'engine', ...contentType(call.body), ...call.headers },
    // One connection for each call: nothing is left open that would keep the process alive.
    agent: false,
    ...(call.signal && { signal: call.signal }),
  });
  const timeoutMs = call.timeoutMs ?? CALL_TIMEOUT_MS;
  if (timeoutMs === 'none') outgoing.on('socket', (connection) => connection.unref());
  else {
    const timer = setTimeout(() => {
      outgoing.destroy(
        timedOut(`the container engine at ${socket} did not answer within ${timeoutMs / 1000} s`),
      );
    }, timeoutMs);
    for (const event of ['response', 'upgrade', 'close']) outgoing.once(event, () => clearTimeout(timer));
  }
  return outgoing;
}

function contentType(body: Call['body']): Record<string, string> {
  if (body === undefined) return {};
  return { 'Content-Type': 'json' in body ? 'application/json' : 'application/x-tar' };
}

async function textOf(response: IncomingMessage, socket: string): Promise<string> {
  try {
    const bytes = await readBounded(response, MAX_ANSWER_BYTES, () =>
      unavailable(`the response from the container engine at ${socket} is too large`),
    );
    return Buffer.from(bytes.buffer).toString();
  } catch (error) {
    throw explain(error, socket);
  }
}

const failureOfStatus: Record<number, typeof invalid> = {
  400: invalid,
  401: forbidden,
  403: forbidden,
  404: notFound,
  409: conflict,
  501: unsupported,
};

async function refusal(response: IncomingMessage, socket: string): Promise<ThvError> {
  const message = messageIn(await textOf(response, socket));
  // Podman reports a server error for a container that disappears during a request.
  const isGone = /no such (container|image|network)/i.test(message);
  const failure = isGone ? notFound : (failureOfStatus[response.statusCode ?? 500] ?? unavailable);
  return failure(`the container engine refused: ${message}`);
}

function messageIn(text: string): string {
  let message = text;
  try {
    message = z.object({ message: z.string() }).parse(JSON.parse(text)).message;
  } catch {
    // Some engines do not answer with JSON. In that case the text is the message.
  }
  return message.replaceAll(/\s+/g, ' ').trim().slice(0, 500);
}

/** What a broken connection to the engine means to a person. */
function explain(error: unknown, socket: string, signal?: AbortSignal): ThvError {
  if (signal?.aborted) return cancelled('the call to the container engine was canceled', { cause: error });
  if (error instanceof ThvError) return error;
  const code = errorCode(error);
  if (code === 'EACCES' || code === 'EPERM') {
    return forbidden(`this user does not have access to the container engine at ${socket}`, {
      hint: 'add the user to the group that owns the socket (often `docker`) and log in again, or use rootless Podman',
      cause: error,
    });
  }
  return unavailable(`the container engine at ${socket} is not reachable: ${messageOf(error)}`, {
    hint: 'check that the container engine is running',
    cause: error,
  });
}
