// The reference of the bridge with a process: `node:http` in front of the same server, and nothing else. It has no sessions,
// checks nothing, and writes the lines of a turn at once.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { serveParent } from '../child.ts';
import { portOf } from './port.ts';

interface Message {
  id?: number | string;
}

const child = spawn(process.execPath, [new URL('./stdio-echo.ts', import.meta.url).pathname], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
/** No `Map`, whose dead tables keep requests (decision 98). */
const pending: Record<number, { id: number | string; response: ServerResponse }> = {};
let lastId = 0;
let lines = '';
let rest = '';

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text: string) => (body += text));
  request.on('end', () => {
    const message: Message | undefined = request.method === 'POST' ? JSON.parse(body) : undefined; // only MCP gets here
    if (message?.id === undefined) {
      response.writeHead(message === undefined ? 405 : 202);
      response.end();
      return;
    }
    pending[++lastId] = { id: message.id, response };
    if (lines === '') setImmediate(writeLines);
    lines += `${JSON.stringify({ ...message, id: lastId })}\n`;
  });
});

function writeLines(): void {
  child.stdin.write(lines);
  lines = '';
}

child.stdout.setEncoding('utf8');
child.stdout.on('data', (chunk: string) => {
  const received = (rest + chunk).split('\n');
  rest = received.pop() ?? '';
  for (const line of received) answer(JSON.parse(line) as { id: number }); // every line answers a request
});

function answer(message: { id: number }): void {
  const asked = pending[message.id];
  if (asked === undefined) return;
  delete pending[message.id];
  const text = JSON.stringify({ ...message, id: asked.id });
  asked.response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  asked.response.end(text);
}

serveParent({ port: await portOf(server) });
