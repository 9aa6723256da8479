import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { type Server, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable } from '@toolhive/contract/failure';
import { markOf } from './mark.ts';

/**
 * Runs inside the sandbox as the parent of a server that speaks HTTP: takes a listening socket and the environment of
 * the server from the daemon, and passes what arrives on the socket to the server's own port. A server that does not
 * listen on the configured port is found where it does. Plain JavaScript, as it runs from a file that is made for the
 * sandbox.
 */
export const forwarderSource = `'use strict';
const { spawn } = require('node:child_process');
const { readFileSync, readdirSync, readlinkSync } = require('node:fs');
const { connect } = require('node:net');
const { constants } = require('node:os');

const [port, command, ...args] = process.argv.slice(2);
process.once('message', ({ env }, listener) => {
  listener.allowHalfOpen = true;
  listener.on('connection', (outer) => {
    outer.on('error', () => {});
    const pass = (inner) => {
      outer.on('close', () => inner.destroy());
      inner.on('error', () => {}).on('close', () => outer.destroy());
      outer.pipe(inner).pipe(outer);
    };
    const reach = ([target, ...others]) => {
      if (target === undefined) return outer.destroy();
      const inner = connect({ ...target, allowHalfOpen: true });
      const next = () => reach(others);
      inner.once('error', next).once('connect', () => {
        inner.off('error', next);
        pass(inner);
      });
    };
    const inner = connect({ host: '127.0.0.1', port: Number(port), allowHalfOpen: true });
    const elsewhere = () => reach(listening());
    inner.once('error', elsewhere).once('connect', () => {
      inner.off('error', elsewhere);
      pass(inner);
    });
  });
  const server = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => server.kill(signal));
  server.on('error', (error) => {
    process.stderr.write(error.message + '\\n');
    process.exit(127);
  });
  server.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
});

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

/** What Node needs to run it: one thread is enough, and its memory is not the server's. */
export const forwarderOptions = ['--v8-pool-size=0', '--max-old-space-size=32'];

/** What the forwarder itself uses of the sandbox's limits. */
export const forwarderShare = { memoryBytes: 48 * 1024 * 1024, processes: 8 };

/**
 * A Unix socket in a private folder. The daemon listens on it only to hand it to the forwarder: nothing of the
 * folder exists inside the sandbox, where a server could put something else in the socket's place.
 */
export class Door implements AsyncDisposable {
  readonly path: string;
  readonly #listener: Server;

  private constructor(path: string, listener: Server) {
    this.path = path;
    this.#listener = listener;
  }

  static async open(place: SocketPlace): Promise<Door> {
    const path = join(await socketFolder(place), 's');
    const listener = createServer();
    listener.listen(`${path}.new`);
    await once(listener, 'listening');
    // Closing a listener removes the name that it was opened with: the socket goes on under another one.
    await rename(`${path}.new`, path);
    return new Door(path, listener);
  }

  /** Gives the socket and the environment of the server away, and returns when the forwarder has them or has ended. */
  async handTo(forwarder: ChildProcess, env: Readonly<Record<string, string>>): Promise<void> {
    const gone = once(forwarder, 'disconnect');
    forwarder.send({ env }, this.#listener, () => {});
    this.#listener.close();
    if (forwarder.connected) forwarder.disconnect();
    const timeout = new AbortController();
    const late = delay(HANDOVER_TIMEOUT_MS, 'late', { signal: timeout.signal }).catch(() => undefined);
    const outcome = await Promise.race([gone, late]);
    timeout.abort();
    if (outcome === 'late') throw unavailable('the sandbox did not take its socket in time');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await rm(dirname(this.path), { recursive: true, force: true });
  }
}

const HANDOVER_TIMEOUT_MS = 10_000;

export interface SocketPlace {
  daemonId: string;
  tempDir: string;
}

/** The kernel's limit on the path of a Unix socket, and the room that names below a folder take. */
const LONGEST_SOCKET_PATH = 103;
const ROOM_BELOW = '/XXXXXX/s.new'.length;

/** A new private directory for one Unix socket whose name has one letter. */
export async function socketFolder({ daemonId, tempDir }: SocketPlace): Promise<string> {
  const folder = join(tempDir, 'sockets');
  if (Buffer.byteLength(folder) + ROOM_BELOW > LONGEST_SOCKET_PATH)
    return mkdtemp(join(tmpdir(), shortName(daemonId)));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return mkdtemp(`${folder}/`);
}

/** Removes socket folders that did not fit into the daemon's own temporary folder. */
export async function sweepSockets(daemonId: string): Promise<void> {
  const entries = await readdir(tmpdir());
  const left = entries.filter((name) => name.startsWith(shortName(daemonId)));
  await Promise.all(left.map((name) => rm(join(tmpdir(), name), { recursive: true, force: true })));
}

const shortName = (daemonId: string) => `thv-${markOf(daemonId)}-`;
