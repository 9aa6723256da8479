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

  /**
   * Passes on the socket and the server's environment, and returns when the forwarder has received them or has ended.
   */
  async passTo(forwarder: ChildProcess, env: Readonly<Record<string, string>>): Promise<void> {
    const gone = once(forwarder, 'disconnect');
    forwarder.send({ env }, this.#listener, () => {});
    this.#listener.close();
    if (forwarder.connected) forwarder.disconnect();
    const timeout = new AbortController();
    const late = delay(PASSING_TIMEOUT_MS, 'late', { signal: timeout.signal }).catch(() => undefined);
    const outcome = await Promise.race([gone, late]);
    timeout.abort();
    if (outcome === 'late') throw unavailable('the sandbox did not take its socket in time');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await rm(dirname(this.path), { recursive: true, force: true });
  }
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
