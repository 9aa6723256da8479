// The transports of the official SDK, connected only by a table of pending requests.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { serveParent } from '../child.ts';
import { portOf } from './port.ts';

const script = new URL('./stdio-echo.ts', import.meta.url).pathname;
const server = new StdioClientTransport({ command: process.execPath, args: [script] });
const waiting = new Map<RequestId, StreamableHTTPServerTransport>(); // the load uses no id twice
const sessions = new Map<string, StreamableHTTPServerTransport>();

await listen(server, (message) => {
  if (!('id' in message) || message.id === undefined) return;
  void waiting.get(message.id)?.send(message);
  waiting.delete(message.id);
});

async function openSession(): Promise<StreamableHTTPServerTransport> {
  const session = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true, // the faster of its two ways to answer
    onsessioninitialized: (id) => void sessions.set(id, session),
  });
  await listen(session, (message) => {
    if ('id' in message && message.id !== undefined) waiting.set(message.id, session);
    void server.send(message);
  });
  return session;
}

/** Starts a transport, whose only listener is a property. */
async function listen(transport: Transport, onmessage: (message: JSONRPCMessage) => void): Promise<void> {
  await Object.assign(transport, { onmessage }).start();
}

const http = createServer((request, response) => {
  const known = sessions.get(String(request.headers['mcp-session-id']));
  void (async () => (known ?? (await openSession())).handleRequest(request, response))();
});
serveParent({ port: await portOf(http) });
