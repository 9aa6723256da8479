// Runs inside the sandbox as the parent of a server: receives listening sockets and the server's environment from the
// daemon, and forwards each socket's connections to a port of the server. If a server that speaks HTTP listens on another
// port, the program detects it.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { forward } from './forward.ts';
import { acceptFrom } from './received-listener.ts';

/** A socket, for the server's port or for another one. The last comes with the environment. */
interface PassedOn {
  serverPort?: number;
  env?: Record<string, string>;
}

interface Target {
  host: string;
  port: number;
}

const [, , portText, command = '', ...args] = process.argv;
const port = Number(portText);

process.on('message', (message, listener) => {
  const { serverPort, env } = message as PassedOn; // sent by `PublishedSocket`
  if (serverPort === undefined)
    acceptFrom(listener, (outer) => forward(outer, [{ host: '127.0.0.1', port }], listening));
  else acceptFrom(listener, (outer) => forward(outer, hostsOf(serverPort)));
  if (env !== undefined) start(env);
});

function start(env: Record<string, string>): void {
  const server = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => server.kill(signal));
  server.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(127);
  });
  server.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  forgetStreams();
}

/** A stdio server that closes its output must be the last that had it. No later socket may get one of these numbers. */
function forgetStreams(): void {
  for (const descriptor of [0, 1]) {
    closeSync(descriptor);
    openSync('/dev/null', 'r+');
  }
}

/** Where a server may listen that was told nothing about the address. */
const hostsOf = (port: number): Target[] => ['127.0.0.1', '::1'].map((host) => ({ host, port }));

/** Where the processes in here listen: the configured port on any address first, then the lowest. */
function listening(): Target[] {
  const own = ownSockets();
  const found = ['tcp', 'tcp6'].flatMap((family) =>
    linesOf(`/proc/net/${family}`).flatMap((line): Target[] => {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/ +/);
      if (state !== '0A' || !own.has(inode)) return [];
      const [address = '', hexPort = ''] = local.split(':');
      return [{ host: family === 'tcp' ? hostOf(address) : '::1', port: Number.parseInt(hexPort, 16) }];
    }),
  );
  const rank = (target: Target): number => (target.port === port ? 0 : target.port);
  // oxlint-disable-next-line unicorn/no-array-sort -- Node.js 18 has no `toSorted`
  return found.sort((one, other) => rank(one) - rank(other)).slice(0, 8);
}

/** An IPv4 address is written in the byte order of the machine. */
function hostOf(address: string): string {
  const bytes = (address.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16));
  // oxlint-disable-next-line unicorn/no-array-reverse -- Node.js 18 has no `toReversed`
  return bytes.every((byte) => byte === 0) ? '127.0.0.1' : bytes.reverse().join('.');
}

/** In the network of the machine other programs listen too, but their processes are not visible here. */
function ownSockets(): Set<string> {
  const own = new Set<string>();
  for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name))) {
    try {
      for (const fd of readdirSync(`/proc/${pid}/fd`)) {
        const [, inode] = /^socket:.([0-9]+)/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? [];
        if (inode !== undefined) own.add(inode);
      }
    } catch {
      // the process has ended, or closed the file
    }
  }
  return own;
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'latin1').split('\n').slice(1);
  } catch {
    return []; // the kernel has no IPv6
  }
}
