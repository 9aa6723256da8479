import { lookup } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServerPod, StartedServer } from '@toolhive/core/single-workload';
import { accepts } from './http-server.ts';

const firstAnswerMs = 60_000;
const checkingMs = 2_000;
/** A server that is restarted or moved refuses connections for a moment. */
const maxFailures = 3;
/** More server pods than any cluster has. */
const maxPods = 256;

/** A pod that may exist. */
interface PossiblePod {
  id: string;
  /** Returns the address, or undefined if the pod is not ready or is about to end. */
  find: () => Promise<{ host: string; port: number } | undefined>;
}

/** Returns the pods that may exist, with the number of those that are known to exist. */
export type PossiblePods = (known: number) => readonly PossiblePod[];

/** The numbered pods in a StatefulSet. One more than are known is looked for. */
export function podsOf(name: string, port: number): PossiblePods {
  return (known) =>
    Array.from({ length: Math.min(known + 1, maxPods) }, (_, number) => ({
      id: `${name}-${number}`,
      find: async () => {
        try {
          const { address } = await lookup(`${name}-${number}.mcp-${name}-headless`);
          return { host: address, port };
        } catch {
          return undefined; // not ready, or gone
        }
      },
    }));
}

/** Servers at given addresses. */
export function podsAt(addresses: readonly { host: string; port: number }[]): PossiblePods {
  const pods = addresses.map((address, number) => ({ id: String(number), find: async () => address }));
  return () => pods;
}

interface Known {
  host: string;
  port: number;
  isRetiring: boolean;
  isUp: boolean;
  failures: number;
}

/** Reaches all server pods. The server counts as ended while none of them accepts connections. */
export function reachServerPods(possible: PossiblePods): StartedServer {
  const over = new AbortController();
  const watch = new PodWatch(possible);
  return {
    id: 'pods',
    server: { pods: { follow: (changed, signal) => watch.follow(changed, signal) } },
    startAnother: () => Promise.reject(new Error('a server in its own pod is not started from here')),
    ended: watch.run(over.signal),
    async stop() {
      over.abort();
    },
    firstAnswerMs,
  };
}

class PodWatch {
  readonly #possible: PossiblePods;
  readonly #known = new Map<string, Known>();
  readonly #followers = new Set<(pods: readonly ServerPod[]) => void>();
  #told = '';

  constructor(possible: PossiblePods) {
    this.#possible = possible;
  }

  follow(changed: (pods: readonly ServerPod[]) => void, signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#followers.add(changed);
    signal.addEventListener('abort', () => this.#followers.delete(changed), { once: true });
    changed(this.#pods());
  }

  /** Settles when no pod accepts connections. Never settles after an abort. */
  async run(signal: AbortSignal): Promise<string> {
    for (let failures = 0; !signal.aborted;) {
      await Promise.all(this.#possible(this.#highest()).map((pod) => this.#check(pod)));
      if (signal.aborted) break;
      this.#tell();
      failures = this.#pods().length > 0 ? 0 : failures + 1;
      if (failures >= maxFailures) return 'does not accept connections';
      await delay(checkingMs, undefined, { signal }).catch(() => {}); // aborted, which the loop looks at
    }
    return new Promise(() => {});
  }

  /** How many pods there have been. Pods have numbers without gaps, but not all of them are ready. */
  #highest(): number {
    return this.#known.size;
  }

  async #check({ id, find }: PossiblePod): Promise<void> {
    const found = await find();
    const known = this.#known.get(id);
    if (found === undefined && known === undefined) return;
    const isMoved = found !== undefined && (found.host !== known?.host || found.port !== known.port);
    const address = found ?? known;
    if (address === undefined) return;
    const isAccepted = await accepts(address.host, address.port);
    const failures = isAccepted || isMoved ? 0 : (known?.failures ?? 0) + 1;
    const isUp = isAccepted || (!isMoved && known?.isUp === true && failures < maxFailures);
    const { host, port } = address;
    this.#known.set(id, { host, port, isRetiring: found === undefined, isUp, failures });
  }

  #pods(): ServerPod[] {
    return [...this.#known]
      .filter(([, { isUp }]) => isUp)
      .map(([id, { host, port, isRetiring }]) => ({
        id,
        isRetiring,
        address: { kind: 'tcp', host: host.includes(':') ? `[${host}]` : host, port, targetPort: port },
      }));
  }

  #tell(): void {
    const pods = this.#pods();
    const told = JSON.stringify(pods);
    if (told === this.#told) return;
    this.#told = told;
    for (const changed of this.#followers) changed(pods);
  }
}
