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
    const [v4, v6] = await Promise.all([listenersOn(port, 'tcp'), listenersOn(port, 'tcp6')]);
    const listeners = [...v4, ...v6];
    if (listeners.some((inode) => !this.#known.has(inode))) await this.#learn(listeners);
    return listeners.some((inode) => this.#known.get(inode) !== false);
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

/** The inodes of the sockets that listen on a port. */
async function listenersOn(port: number, family: 'tcp' | 'tcp6'): Promise<string[]> {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  const text = await readFile(`/proc/self/net/${family}`, 'latin1').catch((error: unknown) => {
    if (family === 'tcp6') return ''; // the kernel has no IPv6
    throw error;
  });
  return text.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/ +/);
    return state === LISTENING && local.endsWith(`:${hexPort}`) ? [inode] : [];
  });
}

const LISTENING = '0A';
