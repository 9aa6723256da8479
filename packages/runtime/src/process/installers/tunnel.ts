/**
 * Runs inside an installer's sandbox as the parent of the tool, and is its only connection to the outside: it listens
 * on loopback addresses and forwards connections to the gateway's Unix socket. Some tools use no HTTP proxy for
 * loopback addresses, so a registry on this machine has a separate listener. Plain JavaScript, because it runs from a
 * file that is created for the sandbox.
 */
export const tunnelSource = `'use strict';
const { spawn } = require('node:child_process');
const { request } = require('node:http');
const { connect, createServer } = require('node:net');
const { constants } = require('node:os');

const [gateway, proxyPort, registries, command, ...args] = process.argv.slice(2);

const servers = [];

function join(outer, inner) {
  outer.on('error', () => {}).on('close', () => inner.destroy());
  inner.on('error', () => {}).on('close', () => outer.destroy());
  outer.pipe(inner).pipe(outer);
}

function listen(host, port, onConnection) {
  return new Promise((resolve) => {
    const server = createServer({ allowHalfOpen: true }, onConnection);
    servers.push(server);
    server.on('error', resolve).listen(port, host, resolve);
  });
}

const toProxy = (outer) => join(outer, connect({ path: gateway, allowHalfOpen: true }));
const toRegistry = (origin) => (outer) => {
  const asking = request({ socketPath: gateway, method: 'CONNECT', path: origin });
  asking.on('connect', (_response, inner) => join(outer, inner)).on('error', () => outer.destroy()).end();
};

const listening = [listen('127.0.0.1', Number(proxyPort), toProxy)];
for (const origin of registries.split(',').filter(Boolean)) {
  const [host, port] = origin.split(':');
  listening.push(listen(host === 'localhost' ? '127.0.0.1' : host, Number(port), toRegistry(origin)));
}
Promise.all(listening).then(() => {
  // Not the descriptors of this program, which may be in non-blocking mode: tools give up when one is full.
  const tool = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  tool.stdout.pipe(process.stdout);
  tool.stderr.pipe(process.stderr);
  tool.on('error', (error) => {
    process.stderr.write(error.message + '\\n');
    process.exitCode = 127;
  });
  tool.on('close', (code, signal) => {
    process.exitCode ??= code ?? 128 + constants.signals[signal];
    for (const server of servers) server.close();
  });
});
`;
