import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler } from '@modelcontextprotocol/server';
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { legacyServer } from './legacy.ts';
import { modernServer } from './modern.ts';
import { taskServer, taskStorage } from './tasks.ts';

export interface HttpFixture extends AsyncDisposable {
  url: string;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Serves a generation's conformance server over streamable HTTP, on this machine only. Port 0 selects a free port. */
export async function serveHttp(
  era: 'legacy' | 'modern' | 'dual' | 'tasks',
  { host, port }: { host: string; port: number },
): Promise<HttpFixture> {
  return serveOwn({ legacy: sessions, modern: stateless, dual: either, tasks: taskSessions }[era](), {
    host,
    port,
  });
}

/** Serves requests for `/mcp` that no page of another site has sent. */
export async function serveOwn(
  answer: Answer,
  { host, port }: { host: string; port: number },
): Promise<HttpFixture> {
  const isOwnHost = localhostHostValidation();
  const isOwnOrigin = localhostOriginValidation();
  const server = createServer((request, response) => {
    if (!isOwnHost(request, response) || !isOwnOrigin(request, response)) return;
    if (request.url !== '/mcp') response.writeHead(404).end();
    else
      void answer(request, response).catch((error: unknown) => {
        process.stderr.write(`${String(error)}\n`);
        response.destroy();
      });
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo; // it listens on no path
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function stateless(): Answer {
  const handler: McpHttpHandler = createMcpHandler(() => modernServer(handler.notify), { legacy: 'reject' });
  const answer = toNodeHandler(handler);
  return (request, response) => answer(request, response);
}

/** Serves each client in its own era, as servers do that were extended for new clients. */
function either(): Answer {
  const [older, newer] = [sessions(), stateless()];
  return (request, response) => {
    const version = request.headers['mcp-protocol-version'];
    return (typeof version === 'string' && version >= '2026-07-28' ? newer : older)(request, response);
  };
}

/** Serves sessions whose tasks are in one place. */
function taskSessions(): Answer {
  const storage = taskStorage();
  return sessions(() => taskServer(storage));
}

function sessions(begin: () => Pick<McpServer, 'connect'> = legacyServer): Answer {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  return async (request, response) => {
    const body = request.method === 'POST' ? await json(request).catch(() => undefined) : undefined;
    const session = request.headers['mcp-session-id'];
    if (session === undefined && isInitializeRequest(body)) {
      const transport = await openSession(transports, begin());
      return await transport.handleRequest(request, response, body);
    }
    if (session === undefined) return refuse(response, 400, 'a session is needed');
    const transport = transports.get(String(session));
    if (transport === undefined) return refuse(response, 404, 'no such session');
    await transport.handleRequest(request, response, body);
  };
}

async function openSession(
  transports: Map<string, StreamableHTTPServerTransport>,
  server: Pick<McpServer, 'connect'>,
): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: eventsOfSession(),
    retryInterval: 500,
    onsessioninitialized: (session) => {
      transports.set(session, transport);
    },
    onsessionclosed: (session) => {
      transports.delete(session);
    },
  });
  await server.connect(transport);
  return transport;
}

/** Stores messages, so that a returning client receives the missed ones. */
function eventsOfSession(): EventStore {
  type Message = Parameters<EventStore['storeEvent']>[1];
  const events: { stream: string; message: Message }[] = [];
  return {
    storeEvent: async (stream, message) => String(events.push({ stream, message })),
    async replayEventsAfter(lastEventId, { send }) {
      const stream = events[Number(lastEventId) - 1]?.stream ?? '';
      for (const [index, event] of events.entries()) {
        // An empty message only told the client where the stream begins.
        if (index < Number(lastEventId) || event.stream !== stream || !('jsonrpc' in event.message)) continue;
        await send(String(index + 1), event.message);
      }
      return stream;
    },
  };
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const error = { code: -32000, message };
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
}
