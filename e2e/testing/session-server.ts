// A server that keeps a session for each client, and tells whose session a call came in. Usage: session-server.ts
// legacy|modern NAME PORT
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

interface Rpc {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown> & {
    name?: string;
    arguments?: Record<string, unknown>;
    inputResponses?: Record<string, unknown>;
  };
  result?: unknown;
}

interface Session {
  client: string;
  /** Settles the question of the server to the client. */
  answered: Map<string, (result: unknown) => void>;
  /** Events that a client can request again, by stream. */
  events: { id: string; data: string }[];
  calls: number;
}

const [mode = 'legacy', pod = 'server', port = '0'] = process.argv.slice(2);
const isModern = mode === 'modern';
const sessions = new Map<string, Session>();
const tools = ['whoami', 'ask', 'slow', 'progress'].map((name) => ({
  name,
  inputSchema: { type: 'object' },
}));

createServer((request, response) => void serve(request, response)).listen(Number(port), '127.0.0.1');

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = String(request.headers['mcp-session-id'] ?? '');
  if (request.method === 'GET') return openStream(request, response, sessions.get(id));
  if (request.method === 'DELETE') {
    response.writeHead(sessions.delete(id) ? 204 : 404).end();
    return;
  }
  const message = JSON.parse(await text(request)) as Rpc;
  if (isModern) return serveModern(message, response);
  if (message.method === 'initialize') return begin(message, response);
  const session = sessions.get(id);
  if (session === undefined) {
    response.writeHead(404).end('unknown session');
    return;
  }
  if (message.method === undefined) session.answered.get(String(message.id))?.(message.result);
  if (message.id === undefined || message.method === undefined) {
    response.writeHead(202).end();
    return;
  }
  await answer(message, id, session, response);
}

function begin({ id, params }: Rpc, response: ServerResponse): void {
  const { name = '' } = (params?.['clientInfo'] ?? {}) as { name?: string };
  const session = randomUUID();
  sessions.set(session, { client: name, answered: new Map(), events: [], calls: 0 });
  const result = {
    protocolVersion: params?.['protocolVersion'],
    capabilities: { tools: {} },
    serverInfo: { name: pod, version: '1' },
  };
  response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
}

async function answer(
  { id, method, params }: Rpc,
  name: string,
  session: Session,
  response: ServerResponse,
): Promise<void> {
  const tool = params?.name;
  const whole = (result: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  session.calls += 1;
  if (method !== 'tools/call') return whole(method === 'tools/list' ? { tools } : {});
  const told = { pod, session: name, client: session.client, calls: session.calls };
  if (tool === 'whoami') return whole(contentOf(told));
  if (tool === 'slow') await new Promise((done) => setTimeout(done, Number(params?.arguments?.['ms'])));
  if (tool === 'slow') return whole(contentOf(told));
  const send = openEvents(response, session, `call-${randomUUID()}`);
  const meta = params?.['_meta'] as { progressToken?: unknown } | undefined;
  if (tool === 'progress') {
    send({ method: 'notifications/progress', params: { progressToken: meta?.progressToken, progress: 1 } });
    await new Promise((done) => setTimeout(done, Number(params?.arguments?.['ms'])));
    send({ id, result: contentOf(told) });
  } else {
    const question = randomUUID();
    const { promise, resolve } = Promise.withResolvers<unknown>();
    session.answered.set(question, resolve);
    const schema = { type: 'object', properties: {} };
    send({
      id: question,
      method: 'elicitation/create',
      params: { message: 'who?', requestedSchema: schema },
    });
    send({ id, result: contentOf({ ...told, answer: await promise }) });
  }
  response.end();
}

/** Starts a stream whose events stay available after its connection is lost. */
function openEvents(response: ServerResponse, session: Session, stream: string): (message: object) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  let last = 0;
  return (message) => {
    const event = { id: `${stream}_${++last}`, data: JSON.stringify({ jsonrpc: '2.0', ...message }) };
    session.events.push(event);
    response.write(`id: ${event.id}\ndata: ${event.data}\n\n`);
  };
}

function openStream(request: IncomingMessage, response: ServerResponse, session: Session | undefined): void {
  if (session === undefined) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  const last = String(request.headers['last-event-id'] ?? '');
  const stream = last.slice(0, last.lastIndexOf('_') + 1);
  const at = session.events.findIndex(({ id }) => id === last);
  if (at === -1) return;
  for (const { id, data } of session.events.slice(at + 1))
    if (id.startsWith(stream)) response.write(`id: ${id}\ndata: ${data}\n\n`);
  response.end();
}

async function serveModern({ id, method, params }: Rpc, response: ServerResponse): Promise<void> {
  const status = id === undefined ? 202 : 200;
  const meta = params?.['_meta'] as Record<string, { name?: string }> | undefined;
  const client = meta?.['io.modelcontextprotocol/clientInfo']?.name;
  const complete = (result: object): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } });
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  };
  if (id === undefined) return void response.writeHead(202).end();
  if (method === 'server/discover')
    return complete({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      serverInfo: { name: pod, version: '1' },
    });
  if (method === 'tools/list') return complete({ tools, ttlMs: 0, cacheScope: 'private' });
  if (method === 'initialize') {
    const error = { code: -32_022, message: 'unsupported', data: { supported: ['2026-07-28'] } };
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    return;
  }
  const told = { pod, client, level: meta?.['io.modelcontextprotocol/logLevel'] };
  if (params?.name === 'slow')
    await new Promise((done) => setTimeout(done, Number(params.arguments?.['ms'])));
  if (params?.name === 'progress') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    const token = (meta as Record<string, unknown> | undefined)?.['progressToken'];
    const send = (message: object): void =>
      void response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
    send({ method: 'notifications/progress', params: { progressToken: token, progress: 1 } });
    await new Promise((done) => setTimeout(done, Number(params.arguments?.['ms'])));
    send({ id, result: { resultType: 'complete', ...contentOf(told) } });
    response.end();
    return;
  }
  if (params?.name === 'ask') {
    const answered = params.inputResponses?.['who'];
    if (answered !== undefined) return complete(contentOf({ ...told, answer: answered }));
    const asked = {
      method: 'elicitation/create',
      params: { message: 'who?', requestedSchema: { type: 'object', properties: {} } },
    };
    return complete({ resultType: 'input_required', inputRequests: { who: asked }, requestState: 'waits' });
  }
  complete(contentOf(told));
}

function contentOf(value: object): object {
  return { content: [{ type: 'text', text: JSON.stringify(value) }] };
}
