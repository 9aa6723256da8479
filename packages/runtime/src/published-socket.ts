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
 * A Unix socket in a private directory. The daemon listens on it only to pass it to the forwarder. The directory does
 * not exist inside the sandbox, where a server could replace the socket.
 */
export class PublishedSocket implements AsyncDisposable {
  readonly path: string;
  readonly #listener: Server;

  private constructor(path: string, listener: Server) {
    this.path = path;
    this.#listener = listener;
  }

  static async open(place: SocketPlace): Promise<PublishedSocket> {
    const path = join(await socketFolder(place), 's');
    const listener = createServer();
    listener.listen(`${path}.new`);
    await once(listener, 'listening');
    listener.on('error', () => {}); // of connections that come before the socket is passed on
    // Closing a listener removes its original name, so the socket continues under another name.
    await rename(`${path}.new`, path);
    return new PublishedSocket(path, listener);
  }

  /** Passes on the socket, and returns when the forwarder has received it or has ended. */
  async passTo(forwarder: ChildProcess): Promise<void> {
    await passSockets(forwarder, [{ socket: this }], {});
  }

  /** Sends the socket with a message, and closes it in this process. Returns also if the other process has ended. */
  async send(forwarder: ChildProcess, message: object): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    forwarder.send(message, this.#listener, resolve);
    await promise;
    this.#listener.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await rm(dirname(this.path), { recursive: true, force: true });
  }
}

/** A socket, and the server's port that it leads to: by default, the one that the forwarder was started with. */
export interface Door {
  socket: PublishedSocket;
  serverPort?: number;
}

/**
 * Passes on sockets and the server's environment, and returns when the forwarder has received them or has ended. At least
 * one socket is needed.
 */
export async function passSockets(
  forwarder: ChildProcess,
  doors: readonly Door[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const gone = once(forwarder, 'disconnect');
  const passed = passEach(forwarder, doors, env).then(() => gone);
  const timeout = new AbortController();
  const late = delay(PASSING_TIMEOUT_MS, 'late', { signal: timeout.signal }).catch(() => undefined);
  const outcome = await Promise.race([passed, gone, late]);
  timeout.abort();
  if (outcome === 'late') throw unavailable('the sandbox did not take its sockets in time');
}

/** Node.js sends a socket when the other process has received the one before, and it must not be closed earlier. */
async function passEach(
  forwarder: ChildProcess,
  doors: readonly Door[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  for (const { socket, serverPort } of doors)
    await socket.send(forwarder, { serverPort, ...(socket === doors.at(-1)?.socket ? { env } : {}) });
  if (forwarder.connected) forwarder.disconnect();
}

const PASSING_TIMEOUT_MS = 10_000;

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
