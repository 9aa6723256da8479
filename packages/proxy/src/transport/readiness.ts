import { setTimeout as delay } from 'node:timers/promises';
import { ThvError, unavailable } from '@toolhive/contract/failure';
import { readValue } from '../jsonrpc/message.ts';
import {
  identityFrom,
  isModern,
  isModernDiscovery,
  isModernRefusal,
  modernMeta,
  modernVersion,
  newestLegacyVersion,
} from '../protocol/protocol.ts';
import type { ProtocolGeneration, ServerIdentity } from '../protocol/protocol.ts';
import type { Answer } from './answer.ts';
import { readEvents } from './events.ts';
import { sessionState } from './session-end.ts';
import type { UpstreamRequest, UpstreamClient } from './upstream-client.ts';
import { connectionFailure } from './connection-failure.ts';

/** How often to ask a server that does not listen yet. */
const retryMs = 50;
/** How long a server may answer with something else than MCP. Some listen before they know all their paths. */
const otherAnswersMs = 5_000;

/** How long a server may not answer `server/discover` before it is asked to begin a session too. */
const silentMs = 3_000;

/** The transports of servers that speak HTTP. */
export type HttpTransportKind = 'sse' | 'streamable-http';

/** The facts about a server that are necessary before its first use. */
export interface Examined {
  generation: ProtocolGeneration;
  /** The description that a modern server gives in a legacy client's session, if the server has such sessions. */
  legacy?: ServerIdentity | undefined;
}

/**
 * Waits until a started server answers as an MCP server, and returns its capabilities. Over streamable HTTP, sends
 * `server/discover`, which changes nothing in a server of either generation. Over HTTP+SSE, opens the event stream.
 * Repeats the request until `signal` aborts. Throws `unavailable` for a server that keeps answering with something
 * else.
 */
export async function waitUntilServing(
  endpoint: UpstreamClient,
  transport: HttpTransportKind,
  signal: AbortSignal,
): Promise<Examined> {
  return (await waitUntilAnswering(endpoint, transport, signal, () => undefined)) as Examined; // nothing is accepted
}

/** Does the same for a server at which callers authenticate. The generation can be undefined if the server refuses others. */
export function waitForCallers(
  endpoint: UpstreamClient,
  transport: HttpTransportKind,
  signal: AbortSignal,
): Promise<Partial<Examined>> {
  return waitUntilAnswering(endpoint, transport, signal, (status) => refusedOthers(status, transport));
}

async function waitUntilAnswering(
  endpoint: UpstreamClient,
  transport: HttpTransportKind,
  signal: AbortSignal,
  accept: (status: number) => Partial<Examined> | undefined,
): Promise<Partial<Examined>> {
  let strangeSinceMs: number | undefined;
  for (;;) {
    signal.throwIfAborted();
    try {
      const { status, generation, isMcp } = await ask(endpoint, transport, signal);
      const accepted = accept(status);
      if (accepted !== undefined) return accepted;
      if (isMcp) return await examined(endpoint, generation, signal);
      // Some legacy servers answer only `initialize` as the protocol wants.
      if (transport !== 'sse' && (await tryInitialize(endpoint, signal)).identity !== undefined)
        return { generation: 'legacy' };
      strangeSinceMs ??= performance.now();
      if (status < 500 && performance.now() - strangeSinceMs > otherAnswersMs) throw notMcp(endpoint, status);
    } catch (error) {
      signal.throwIfAborted();
      if (!isNotListening(error)) throw error;
    }
    await delay(retryMs, undefined, { signal });
  }
}

function notMcp({ path }: UpstreamClient, status: number): ThvError {
  return unavailable(`the server answers requests to ${path} with status ${status}, which is not MCP`, {
    hint: 'if the server listens on several ports, set the port with --target-port. If it uses HTTP+SSE, add --transport sse',
  });
}

/** Returns the capabilities of a remote server. Throws `unavailable` if the server refuses the request. */
export async function examineRemote(
  endpoint: UpstreamClient,
  transport: HttpTransportKind,
  signal: AbortSignal,
): Promise<Examined> {
  return examined(endpoint, await generationOfRemote(endpoint, transport, signal), signal);
}

/**
 * Returns the capabilities of a remote server at which callers authenticate. The generation is undefined if the server
 * refuses requests without a caller. Throws `unavailable` if the server does not answer.
 */
export async function examineForCallers(
  endpoint: UpstreamClient,
  transport: HttpTransportKind,
  signal: AbortSignal,
): Promise<Partial<Examined>> {
  const { status } = await askRemote(endpoint, transport, signal);
  return refusedOthers(status, transport) ?? (await examineRemote(endpoint, transport, signal));
}

/** What is known of a server that refuses requests without a caller. Undefined if the server accepted a request. */
function refusedOthers(status: number, transport: HttpTransportKind): Partial<Examined> | undefined {
  if (status !== 401 && status !== 403) return undefined;
  return transport === 'sse' ? { generation: 'legacy' } : {};
}

/** Returns the generation of a remote server. Throws `unavailable` if the server refuses the request. */
export async function generationOfRemote(
  endpoint: UpstreamClient,
  transport: HttpTransportKind,
  signal: AbortSignal,
): Promise<ProtocolGeneration> {
  const { status, generation } = await askRemote(endpoint, transport, signal);
  // Legacy servers refuse an unknown request in many ways, so only `initialize` shows the meaning of the status.
  const isUnclear = [403, 404, 405].includes(status) || status >= 500;
  if (isUnclear && transport !== 'sse' && generation === 'legacy') {
    if ((await tryInitialize(endpoint, signal)).isAccepted) return generation;
  }
  if (status === 429) {
    throw unavailable(`${endpoint.origin} returned status 429, because it gets too many requests`, {
      hint: 'wait before you start the workload again, and check whether other programs use the same account or address',
    });
  }
  if (status === 401 || status === 403) {
    throw unavailable(`${endpoint.origin} refused access with status ${status}`, {
      hint: 'run thv run or thv restart to sign in for a workload. Otherwise check the headers',
    });
  }
  if (status >= 500 || (transport === 'sse' && status !== 200)) {
    throw unavailable(`${endpoint.origin} returned status ${status}`);
  }
  if ((status === 404 || status === 405) && generation === 'legacy') {
    if (await offersEvents(endpoint, signal))
      throw unavailable(
        `${endpoint.origin}${endpoint.path} uses the older transport HTTP+SSE, so it needs --transport sse`,
      );
    throw unavailable(`no MCP endpoint found at ${endpoint.origin}${endpoint.path}`, {
      hint: 'check the URL. A server that uses HTTP+SSE needs --transport sse',
    });
  }
  return generation;
}

/** Whether a server that takes no messages answers with events, as a server with HTTP+SSE does. */
async function offersEvents(endpoint: UpstreamClient, signal: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const request = { ...eventStream, signal: AbortSignal.any([signal, over.signal]) };
  const response = await endpoint.request(request).catch(() => undefined); // it offers nothing
  if (response !== undefined && typeof response.body !== 'string') response.body.on('error', () => {}); // ended here
  over.abort(new Error('it was answered'));
  const type = String(response?.headers['content-type'] ?? '');
  return response?.statusCode === 200 && type.startsWith('text/event-stream');
}

function askRemote(
  endpoint: UpstreamClient,
  transport: HttpTransportKind,
  signal: AbortSignal,
): ReturnType<typeof ask> {
  return ask(endpoint, transport, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof ThvError) throw error; // the server could be reached, but the user has not signed in
    throw unavailable(`${endpoint.origin} cannot be reached: ${connectionFailure(error)}`, { cause: error });
  });
}

/**
 * A server that supports both generations works best if each client uses its own generation, provided that the server
 * offers sessions.
 */
async function examined(
  endpoint: UpstreamClient,
  generation: ProtocolGeneration,
  signal: AbortSignal,
): Promise<Examined> {
  if (generation === 'legacy') return { generation };
  const { identity, hasSession } = await tryInitialize(endpoint, signal);
  return { generation, legacy: hasSession ? identity : undefined };
}

/** Begins and ends a session. Some servers answer 404 to everything else outside of a session. */
async function tryInitialize(
  endpoint: UpstreamClient,
  signal: AbortSignal,
): Promise<{ isAccepted: boolean; hasSession: boolean; identity?: ServerIdentity | undefined }> {
  const over = new AbortController();
  const response = await endpoint.request({ ...initialize, signal: AbortSignal.any([signal, over.signal]) });
  if (typeof response.body !== 'string') response.body.on('error', () => {}); // the caller destroys the stream
  try {
    const isAccepted = response.statusCode < 300;
    const session = response.headers['mcp-session-id'];
    if (!isAccepted) return { isAccepted, hasSession: false };
    const identity = initializedIdentity(await readAnswer(response, endpoint));
    if (typeof session !== 'string') return { isAccepted, hasSession: false, identity };
    const headers = { 'mcp-session-id': session };
    await endpoint.request({ method: 'DELETE', headers, signal }).catch(() => {}); // the session expires on the server
    return { isAccepted, hasSession: true, identity };
  } finally {
    over.abort(new Error('it was answered'));
  }
}

function initializedIdentity(text: string): ServerIdentity | undefined {
  try {
    const { result } = readValue(text) as { result?: unknown };
    const identity = identityFrom(result);
    return isModern(identity.protocolVersion) ? undefined : identity;
  } catch {
    return undefined; // the server refused, or sent a response that violates the protocol
  }
}

/** The facts about a server in the response to a request that changes nothing. */
interface Shown {
  status: number;
  /** The generation that the response indicates. */
  generation: ProtocolGeneration;
  isMcp: boolean;
}

/**
 * Sends a request that changes nothing in the server. Some legacy servers do not answer the unknown request, or close the
 * connection, so they are asked to begin a session too (MCP 2026-07-28, Versioning, Backward Compatibility).
 */
export async function ask(
  endpoint: UpstreamClient,
  transport: HttpTransportKind,
  signal: AbortSignal,
): Promise<Shown> {
  if (transport === 'sse') return askOnce(endpoint, transport, signal);
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  let waitsForUser = false;
  const asked = askOnce(endpoint, transport, either, () => (waitsForUser = true));
  // A sign-in takes longer, and some servers let anyone begin a session.
  const silence = delay(silentMs, undefined, { signal: either }).then(() =>
    waitsForUser ? asked : undefined,
  );
  try {
    const first = await Promise.race([asked, silence]).catch((error: unknown) => {
      if (!isClosed(error)) throw error;
      return undefined;
    });
    if (first !== undefined) return first;
    return await Promise.any([asked, legacyShown(endpoint, either)]).catch(() => asked);
  } finally {
    over.abort(new Error('it was answered'));
    for (const aborted of [asked, silence]) aborted.catch(() => {});
  }
}

async function legacyShown(endpoint: UpstreamClient, signal: AbortSignal): Promise<Shown> {
  const { identity } = await tryInitialize(endpoint, signal);
  if (identity === undefined) throw new Error('the server does not begin a session');
  return { status: 200, generation: 'legacy', isMcp: true };
}

async function askOnce(
  endpoint: UpstreamClient,
  transport: HttpTransportKind,
  signal: AbortSignal,
  onRefused?: () => void,
): Promise<Shown> {
  // Ends the request after the answer, because an event stream has no end.
  const over = new AbortController();
  const question = transport === 'sse' ? eventStream : discover;
  const either = AbortSignal.any([signal, over.signal]);
  const response = await endpoint.request({ ...question, signal: either, ...(onRefused && { onRefused }) });
  if (typeof response.body !== 'string') response.body.on('error', () => {}); // the caller destroys the stream
  try {
    const { statusCode } = response;
    if (transport === 'sse') return { status: statusCode, generation: 'legacy', isMcp: statusCode === 200 };
    const text = await readAnswer(response, endpoint);
    const { isMcp, isModern } = described(text);
    // Some servers refuse requests without a session with any status.
    const status = asksForSession({ statusCode, text }) ? 400 : statusCode;
    return { status, generation: isModern ? 'modern' : 'legacy', isMcp };
  } finally {
    over.abort(new Error('it was answered'));
  }
}

/** Returns the JSON of a response, which may be an event. */
async function readAnswer({ body }: Answer, { input }: UpstreamClient): Promise<string> {
  if (typeof body === 'string') return body;
  let last = '';
  for await (const { data } of readEvents(body, input)) {
    if (data !== '') last = data;
    if (isResponse(last)) break; // notifications may come first
  }
  return last;
}

function isResponse(text: string): boolean {
  try {
    const { result, error } = readValue(text) as { [key: string]: unknown };
    return result !== undefined || error !== undefined;
  } catch {
    return false;
  }
}

/** Legacy servers refuse the unknown request in many ways, but as JSON-RPC. */
function described(text: string): { isMcp: boolean; isModern: boolean } {
  try {
    const { jsonrpc, result, error } = readValue(text) as { [key: string]: unknown };
    const isMcp = jsonrpc === '2.0' && (result !== undefined || error !== undefined);
    return { isMcp, isModern: isModernDiscovery(result) || isModernRefusal(error) };
  } catch {
    return { isMcp: false, isModern: false };
  }
}

function asksForSession(answer: { statusCode: number; text: string }): boolean {
  const { statusCode } = answer;
  if (statusCode < 400 || statusCode === 404 || statusCode === 410) return false;
  return ['ended', 'perhaps'].includes(sessionState(answer, false));
}

function isNotListening(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return isClosed(error) || code === 'ECONNREFUSED' || code === 'ENOENT';
}

/** Whether the server accepted the connection and closed it without an answer. */
function isClosed(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(code ?? '');
}

type Question = Omit<UpstreamRequest, 'signal'>;

const eventStream: Question = { method: 'GET', headers: { accept: 'text/event-stream' } };

/** Who asks before any client does. */
const clientInfo = { name: 'toolhive', version: '' };

const initialize: Question = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: newestLegacyVersion,
      capabilities: {},
      clientInfo,
    },
  }),
};

const discover: Question = {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': modernVersion,
    'mcp-method': 'server/discover',
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: 'server/discover',
    params: { _meta: modernMeta({ protocolVersion: modernVersion, capabilities: {}, clientInfo }) },
  }),
};
