import { forwardSource } from '../door.ts';

/**
 * Runs inside the sandbox as the parent of an HTTP server: receives a listening socket and the server's environment
 * from the daemon, and forwards the socket's connections to the server's port. If the server listens on another port,
 * the forwarder detects it. Plain JavaScript, because it runs from a file that is created for the sandbox.
 */
export const forwarderSource = `'use strict';
const { spawn } = require('node:child_process');
const { readFileSync, readdirSync, readlinkSync } = require('node:fs');
const { constants } = require('node:os');

const [port, command, ...args] = process.argv.slice(2);
process.once('message', ({ env }, listener) => {
  listener.allowHalfOpen = true;
  listener.on('error', () => {}); // one connection could not be accepted
  listener.on('connection', (outer) => {
    outer.on('error', () => {});
    forward(outer, [{ host: '127.0.0.1', port: Number(port) }], listening);
  });
  const server = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => server.kill(signal));
  server.on('error', (error) => {
    process.stderr.write(error.message + '\\n');
    process.exit(127);
  });
  server.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
});

${forwardSource}
/** Where the processes in here listen: the configured port on any address first, then the lowest. */
function listening() {
  const own = ownSockets();
  const found = ['tcp', 'tcp6'].flatMap((family) =>
    linesOf('/proc/net/' + family).flatMap((line) => {
      const [, local, , state, , , , , , inode] = line.trim().split(/ +/);
      if (state !== '0A' || !own.has(inode)) return [];
      const [address, hexPort] = local.split(':');
      return [{ host: family === 'tcp' ? hostOf(address) : '::1', port: parseInt(hexPort, 16) }];
    }),
  );
  const rank = (target) => (target.port === Number(port) ? 0 : target.port);
  return found.sort((one, other) => rank(one) - rank(other)).slice(0, 8);
}

/** An IPv4 address is written in the byte order of the machine. */
function hostOf(address) {
  const bytes = address.match(/../g).reverse().map((byte) => parseInt(byte, 16));
  return bytes.every((byte) => byte === 0) ? '127.0.0.1' : bytes.join('.');
}

/** In the network of the machine other programs listen too, but their processes are not visible here. */
function ownSockets() {
  const own = new Set();
  for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
    try {
      for (const fd of readdirSync('/proc/' + pid + '/fd')) {
        const [, inode] = /^socket:.([0-9]+)/.exec(readlinkSync('/proc/' + pid + '/fd/' + fd)) ?? [];
        if (inode !== undefined) own.add(inode);
      }
    } catch {} // it has ended, or closed the file
  }
  return own;
}

function linesOf(path) {
  try {
    return readFileSync(path, 'latin1').split('\\n').slice(1);
  } catch {
    return []; // there is no IPv6
  }
}
`;

/** The Node.js options for the forwarder: one thread, and separate memory from the server. */
export const forwarderOptions = ['--v8-pool-size=0', '--max-old-space-size=32'];

/** What the forwarder itself uses of the sandbox's limits. */
export const forwarderShare = { memoryBytes: 48 * 1024 * 1024, processes: 8 };
