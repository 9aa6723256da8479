// Another bridge, by its own command line, in front of the server that ours has: `node peer.ts NAME`.
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:net';
import { once } from 'node:events';
import { serveParent } from '../child.ts';
import { freePort } from './port.ts';

const port = await freePort();
const server = [process.execPath, new URL('./stdio-echo.ts', import.meta.url).pathname];
const peers: Record<string, { main: string; flags: string; server: string[] }> = {
  supergateway: {
    main: import.meta.resolve('supergateway/dist/index.js'),
    flags: `--port ${port} --outputTransport streamableHttp --stateful --logLevel none`,
    server: ['--stdio', server.join(' ')],
  },
  'mcp-proxy': {
    main: import.meta.resolve('mcp-proxy/dist/bin/mcp-proxy.mjs'),
    flags: `--port ${port} --host 127.0.0.1 --server stream`,
    server: ['--', ...server],
  },
};

const name = process.argv[2] ?? '';
const peer = peers[name];
if (peer === undefined) throw new Error(`there is no peer ${name}`);
process.argv.splice(1, Infinity, new URL(peer.main).pathname, ...peer.flags.split(' '), ...peer.server);
await import(peer.main);
while (!(await isOpen())) await delay(20);
serveParent({ port }); // its servers end when their standard input does

async function isOpen(): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  const connected = await once(socket, 'connect').catch(() => undefined); // not yet
  socket.destroy();
  return connected !== undefined;
}
