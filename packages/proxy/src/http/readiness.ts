import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { InstanceAddress } from '@toolhive/runtime/runtime';
import { newestLegacyRevision } from '../protocol.ts';

/** How often a server that does not listen yet is asked again. */
const retryMs = 50;

/**
 * Returns once a server that speaks HTTP answers as an MCP server does: to `initialize` over streamable HTTP,
 * or by opening its event stream. Goes on asking until `signal` ends it.
 */
export async function waitUntilServing(
  address: InstanceAddress,
  transport: 'sse' | 'streamable-http',
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    if (await isServing(address, transport, signal)) return;
    await delay(retryMs, undefined, { signal });
  }
}

async function isServing(
  address: InstanceAddress,
  transport: 'sse' | 'streamable-http',
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const response = await ask(address, transport === 'sse' ? eventStream : initialize, signal);
    const session = response.headers['mcp-session-id'];
    response.destroy(); // an event stream would go on for ever
    if (typeof session === 'string') await endSession(address, session, signal);
    // Any answer but a server's own failure shows that it serves: its endpoint may stand somewhere else.
    return (response.statusCode ?? 500) < 500;
  } catch (error) {
    signal.throwIfAborted();
    if (isNotListening(error)) return false;
    throw error;
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

const initialize: Question = {
  method: 'POST',
  path: '/mcp',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: newestLegacyRevision,
      capabilities: {},
      clientInfo: { name: 'toolhive', version: '1' },
    },
  }),
};

async function endSession(address: InstanceAddress, session: string, signal: AbortSignal): Promise<void> {
  const question = { method: 'DELETE', path: '/mcp', headers: { 'mcp-session-id': session } };
  const response = await ask(address, question, signal);
  response.resume();
}

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
