// The reference of the bridge and the upstream of the proxies: `node:http`, JSON in, JSON out, nothing else.
import { createServer } from 'node:http';
import { serveParent } from '../child.ts';
import { portOf } from './port.ts';
import { identity, result as echoed, unknown } from './answer.ts';

const results: Record<string, object> = {
  initialize: identity,
  'tools/call': echoed,
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
};

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text: string) => (body += text));
  request.on('end', () => {
    const text = request.method === 'POST' ? answerTo(body) : undefined;
    if (text === undefined) {
      response.writeHead(request.method === 'POST' ? 202 : 405); // no event stream, and no sessions
      response.end();
      return;
    }
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  });
});

/** Nothing for a notification. */
function answerTo(body: string): string | undefined {
  const { id, method } = JSON.parse(body) as { id?: number | string; method: string }; // only MCP gets here
  if (id === undefined) return undefined;
  const result = results[method];
  return JSON.stringify(
    result === undefined ? { jsonrpc: '2.0', id, error: unknown } : { jsonrpc: '2.0', id, result },
  );
}

serveParent({ port: await portOf(server) });
