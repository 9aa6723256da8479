import { readFile, readdir, readlink } from 'node:fs/promises';

/** How many sockets are remembered. */
const MAX_KNOWN = 1_000;

/**
 * The local ports that belong to ToolHive: on which this process listens, such as those of its API and of proxies,
 * and on which a container engine publishes servers of workloads. Ports move, so each answer is about this moment.
 */
export class OwnPorts {
  readonly #published = new Map<number, number>();
  /** Whether a socket belongs to this process, by its inode, which is never used again. */
  readonly #known = new Map<string, boolean>();
  /** Resolves when the latest reading has ended. */
  #lastReading: Promise<unknown> = Promise.resolve();
  /** The reading that has not begun yet. */
  #nextReading: Promise<Listeners> | undefined;

  /** Adds a port on which another process listens for ToolHive, until disposal. */
  add(port: number): Disposable {
    this.#published.set(port, (this.#published.get(port) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#published.get(port) ?? 1) - 1;
        if (left > 0) this.#published.set(port, left);
        else this.#published.delete(port);
      },
    };
  }

  /** Whether a port belongs to ToolHive. Throws where the system does not tell which process listens (everywhere but on Linux). */
  async has(port: number): Promise<boolean> {
    if (this.#published.has(port)) return true;
    const listeners = (await this.#read()).get(port) ?? [];
    if (listeners.some((inode) => !this.#known.has(inode))) await this.#learn(listeners);
    return listeners.some((inode) => this.#known.get(inode) !== false);
  }

  /**
   * Returns listeners as they are after this call. A server can ask thousands of times a second, and reading takes
   * milliseconds, so all who ask during one reading share the next one.
   */
  #read(): Promise<Listeners> {
    this.#nextReading ??= this.#lastReading.then(() => {
      this.#nextReading = undefined;
      const reading = readListeners();
      this.#lastReading = reading.catch(() => {}); // those who asked get the error
      return reading;
    });
    return this.#nextReading;
  }

  async #learn(listeners: readonly string[]): Promise<void> {
    const own = new Set(await Promise.all((await readdir('/proc/self/fd')).map(inodeOf)));
    if (this.#known.size > MAX_KNOWN) this.#known.clear();
    for (const inode of listeners) this.#known.set(inode, own.has(inode));
  }
}

async function inodeOf(descriptor: string): Promise<string | undefined> {
  const target = await readlink(`/proc/self/fd/${descriptor}`).catch(() => ''); // it has been closed
  return /^socket:\[(\d+)\]$/.exec(target)?.[1];
}

/** The inodes of listening sockets, by port. */
type Listeners = ReadonlyMap<number, readonly string[]>;

const LISTENING = '0A';

async function readListeners(): Promise<Listeners> {
  const texts = await Promise.all([
    readFile('/proc/self/net/tcp', 'latin1'),
    readFile('/proc/self/net/tcp6', 'latin1').catch(() => ''), // the kernel has no IPv6
  ]);
  const listeners = new Map<number, string[]>();
  for (const line of texts.join('\n').split('\n')) {
    if (!line.includes(` ${LISTENING} `)) continue;
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/ +/);
    if (state !== LISTENING) continue;
    const port = Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16);
    listeners.set(port, [...(listeners.get(port) ?? []), inode]);
  }
  return listeners;
}
