import type { Socket } from 'node:net';
import { PassingMap } from '@toolhive/contract/passing';

const MAX_CONNECTIONS = 1024;
const FEWEST_CONNECTIONS = 16;
/** The open files of the process itself, and of each connection. */
const OWN_FILES = 32;
const FILES_PER_CONNECTION = 2;

/**
 * The connections that all gateways of a process may have together, and each of them. They derive from the number of files
 * that the process can have open, so that no server can use up all of them.
 */
export class ConnectionPlaces {
  readonly perGateway: number;
  #free: number;

  constructor(openFiles: number) {
    const usable = Math.floor(openFiles * 0.75) - OWN_FILES;
    this.#free = Math.max(FEWEST_CONNECTIONS, Math.floor(usable / FILES_PER_CONNECTION));
    this.perGateway = Math.min(MAX_CONNECTIONS, Math.max(FEWEST_CONNECTIONS, Math.floor(this.#free / 4)));
  }

  take(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  release(): void {
    this.#free += 1;
  }
}

/** The open connections of one gateway. Disposal ends them. */
export class Connections implements Disposable {
  readonly #places: ConnectionPlaces;
  readonly #open = new PassingMap<Socket, string | undefined>();
  #isClosed = false;

  constructor(places: ConnectionPlaces) {
    this.#places = places;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Counts a connection to the host with this name, if any, until it is closed. Returns false if there are too many. */
  take(inner: Socket, name?: string): boolean {
    const isFull = this.#open.size >= this.#places.perGateway;
    if (this.#isClosed || isFull || !this.#places.take()) return false;
    this.add(inner, name);
    inner.on('close', () => this.#places.release());
    return true;
  }

  /** Counts a connection that takes no place. */
  add(inner: Socket, name?: string): void {
    this.#open.set(inner, name);
    inner.on('close', () => this.#open.delete(inner));
  }

  isInUse(name: string): boolean {
    return this.#open.values().some((used) => used === name);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const connection of this.#open.keys()) connection.destroy();
  }
}
