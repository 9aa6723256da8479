// Runs inside an installer's sandbox as the parent of the tool, and is its only connection to the outside: listens on
// loopback addresses, and forwards connections to the gateway's Unix socket. Some tools use no HTTP proxy for loopback
// addresses, so a registry on this machine has a separate listener.
import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { type Server, type Socket, connect, createServer } from 'node:net';
import { constants } from 'node:os';
import type { Duplex } from 'node:stream';

const [, , gateway = '', proxyPort, registries = '', command = '', ...args] = process.argv;

const servers: Server[] = [];

function join(outer: Duplex, inner: Duplex): void {
  outer.on('error', () => {}).on('close', () => inner.destroy());
  inner.on('error', () => {}).on('close', () => outer.destroy());
  outer.pipe(inner).pipe(outer);
}

/** Returns when the server listens, or cannot: the tool reports the missing connection. */
function listen(host: string, port: number, onConnection: (outer: Socket) => void): Promise<void> {
  return new Promise((resolve) => {
    const server = createServer({ allowHalfOpen: true }, onConnection);
    servers.push(server);
    server.on('error', () => resolve()).listen(port, host, () => resolve());
  });
}

const toProxy = (outer: Socket): void => join(outer, connect({ path: gateway, allowHalfOpen: true }));
const toRegistry =
  (origin: string) =>
  (outer: Socket): void => {
    request({ socketPath: gateway, method: 'CONNECT', path: origin })
      .on('connect', (_response, inner, early) => {
        if (early.length > 0) inner.unshift(early);
        join(outer, inner);
      })
      .on('error', () => outer.destroy())
      .end();
  };

async function main(): Promise<void> {
  const listening = [listen('127.0.0.1', Number(proxyPort), toProxy)];
  for (const origin of registries.split(',').filter(Boolean)) {
    const [host = '', port] = origin.split(':');
    listening.push(listen(host === 'localhost' ? '127.0.0.1' : host, Number(port), toRegistry(origin)));
  }
  await Promise.all(listening);
  // Not the descriptors of this program, which may be in non-blocking mode: tools give up when one is full.
  const tool = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  tool.stdout.pipe(process.stdout);
  tool.stderr.pipe(process.stderr);
  tool.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 127;
  });
  tool.on('close', (code, signal) => {
    process.exitCode ??= code ?? 128 + constants.signals[signal ?? 'SIGKILL'];
    for (const server of servers) server.close();
  });
}

main().catch((error: unknown) => {
  throw error;
});
