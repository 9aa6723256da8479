import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { InstanceAddress } from '@toolhive/runtime/runtime';
import { modernMeta } from '../link/greeting.ts';
import { isModernError, modernRevision } from '../protocol.ts';
import type { Era } from '../protocol.ts';
import { readEvents } from '../wire/events.ts';

/** How often a server that does not listen yet is asked again. */
const retryMs = 50;

/**
 * Returns once a server that speaks HTTP answers as an MCP server does, with its era: to `server/discover` over
 * streamable HTTP, which costs a server of either era nothing, or by opening its event stream. Goes on asking until
 * `signal` ends it.
 */
export async function waitUntilServing(
  address: InstanceAddress,
  transport: 'sse' | 'streamable-http',
  signal: AbortSignal,
): Promise<Era> {
  for (;;) {
    signal.throwIfAborted();
    const era = await eraOf(address, transport, signal);
    if (era !== undefined) return era;
    await delay(retryMs, undefined, { signal });
  }
}

async function eraOf(
  address: InstanceAddress,
  transport: 'sse' | 'streamable-http',
  signal: AbortSignal,
): Promise<Era | undefined> {
  try {
    const response = await ask(address, transport === 'sse' ? eventStream : discover, signal);
    const { statusCode = 500, headers } = response;
    // Any answer but a server's own failure shows that it serves: its endpoint may stand somewhere else.
    const text = transport === 'sse' ? '' : await readAnswer(response, headers['content-type'] ?? '');
    response.destroy(); // an event stream would go on for ever
    if (isModernAnswer(text)) return 'modern';
    return statusCode < 500 ? 'legacy' : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (isNotListening(error)) return undefined;
    throw error;
  }
}

/** What an answer to `server/discover` is not longer than. */
const maxAnswerChars = 1024 * 1024;

/** The JSON of an answer, which may come as an event. */
async function readAnswer(response: IncomingMessage, mediaType: string): Promise<string> {
  if (mediaType.startsWith('text/event-stream')) {
    for await (const { data } of readEvents(response)) if (data !== '') return data;
  }
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > maxAnswerChars) break;
  }
  return text;
}

/** A legacy server knows no such request, and says so in one of many ways. */
function isModernAnswer(text: string): boolean {
  try {
    const { result, error } = JSON.parse(text) as {
      result?: { supportedVersions?: unknown };
      error?: unknown;
    };
    return Array.isArray(result?.supportedVersions) || isModernError(error);
  } catch {
    return false;
  }
}

function isNotListening(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNREFUSED' || code === 'ECONNRESET' || code === 'ENOENT' || code === 'EPIPE';
}

interface Question {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

const eventStream: Question = { method: 'GET', path: '/sse', headers: { accept: 'text/event-stream' } };

const discover: Question = {
  method: 'POST',
  path: '/mcp',
  headers: {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': modernRevision,
    'mcp-method': 'server/discover',
  },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: 'server/discover',
    params: { _meta: modernMeta({ protocolVersion: modernRevision, capabilities: {} }) },
  }),
};

async function ask(
  address: InstanceAddress,
  question: Question,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const where =
    address.kind === 'socket' ? { socketPath: address.path } : { host: address.host, port: address.port };
  const { method, path, headers, body } = question;
  const request = httpRequest({ ...where, method, path, headers, agent: false, signal }, resolve);
  request.on('error', reject);
  request.end(body);
  return promise;
}
