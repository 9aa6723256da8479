// The reference of the bridge and the upstream of the proxies: `node:http`, JSON in, JSON out, nothing else.
import { createServer } from 'node:http';
import { serveParent } from '../child.ts';
import { portOf } from './port.ts';
import { identity, result } from './answer.ts';

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text: string) => (body += text));
  request.on('end', () => {
    const { id, method } = JSON.parse(body) as { id?: number; method: string }; // the load generator wrote it
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: method === 'tools/call' ? result : identity });
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    response.end(text);
  });
});
serveParent({ port: await portOf(server) });
