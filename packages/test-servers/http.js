// The same tools over HTTP: streamable HTTP at /mcp, or the older pair of /sse and /messages.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { answer, newState } from './servers.js';

/** Listens on MCP_PORT until the process ends. */
export async function serveHttp(manners, world) {
  const streams = new Map();
  const sessions = new Set();
  const state = Object.assign(
    newState(manners, world, () => {}),
    { manySessions: true },
  );
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const route = `${request.method} ${url.pathname}`;
    if (manners === 'http' && route === 'POST /mcp') return void streamable(request, response);
    if (manners === 'http' && route === 'DELETE /mcp') {
      sessions.delete(request.headers['mcp-session-id']);
      return response.writeHead(204).end();
    }
    if (manners === 'http' && route === 'GET /mcp') return openStream(response);
    if (manners === 'sse' && route === 'GET /sse') {
      const session = randomUUID();
      openStream(response);
      response.write(`event: endpoint\ndata: /messages?sessionId=${session}\n\n`);
      streams.set(session, response);
      return response.on('close', () => streams.delete(session));
    }
    if (manners === 'sse' && route === 'POST /messages')
      return void message(request, response, url.searchParams.get('sessionId'));
    response.writeHead(404).end();
  });
  server.listen({ host: world.env.MCP_HOST ?? '127.0.0.1', port: Number(world.env.MCP_PORT) });
  if (world.ended !== undefined) {
    await world.ended;
    server.close();
    server.closeAllConnections();
  }

  function openStream(response) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.flushHeaders();
  }

  async function streamable(request, response) {
    const body = JSON.parse(await textOf(request));
    const session = request.headers['mcp-session-id'];
    if (body.method !== 'initialize' && !sessions.has(session)) {
      response.writeHead(404).end('unknown session');
      return;
    }
    const reply = await answer(body, state);
    if (reply === undefined) {
      response.writeHead(202).end();
      return;
    }
    const headers = { 'content-type': 'application/json' };
    if (body.method === 'initialize') {
      const created = randomUUID();
      sessions.add(created);
      headers['mcp-session-id'] = created;
    }
    response.writeHead(200, headers).end(JSON.stringify(reply));
  }

  async function message(request, response, session) {
    const stream = streams.get(session);
    if (stream === undefined) {
      response.writeHead(404).end();
      return;
    }
    const body = JSON.parse(await textOf(request));
    response.writeHead(202).end('Accepted');
    const reply = await answer(body, state);
    if (reply !== undefined) stream.write(`event: message\ndata: ${JSON.stringify(reply)}\n\n`);
  }
}

async function textOf(request) {
  let body = '';
  request.setEncoding('utf8');
  for await (const chunk of request) body += chunk;
  return body;
}
