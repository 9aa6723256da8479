import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

/** The JSON interface has keys and values in base64, and numbers as texts. */
interface Entry {
  key: string;
  value?: string;
  mod_revision: string;
}

/** All objects at one moment, by their key. */
export type Snapshot = Map<string, { value: string; revision: string }>;

const everything = { key: 'AA==', range_end: 'AA==' };
/** As many operations as etcd allows in one transaction. */
const MAX_OPERATIONS = 128;
const QUIET_MS = 300;
const SETTLE_MS = 30_000;
/** The API server renews its own leases while nothing else happens. */
const ownLeases = '/registry/leases/kube-system/';
/** The API server applies changes of these objects at its own time. */
const definitions = /^\/registry\/(apiextensions|apiregistration)\.k8s\.io\//;

/** The database of one control plane, past the API server, which sees every change in its watches. */
export class Etcd {
  readonly #socketPath: string;

  constructor(state: string) {
    this.#socketPath = join(state, 'etcd.sock');
  }

  /** Removes the history of all objects, so that only current versions are left. */
  async compact(): Promise<void> {
    const { header } = (await this.#call('/v3/maintenance/status', {})) as { header: { revision: string } };
    await this.#call('/v3/kv/compaction', { revision: header.revision, physical: true });
  }

  /** Reads all objects when the programs of a new control plane write nothing anymore. */
  async snapshot(): Promise<Snapshot> {
    const until = performance.now() + SETTLE_MS;
    const read = async (): Promise<Entry[]> => this.#entries();
    let before = await read();
    while (performance.now() < until) {
      await delay(QUIET_MS);
      const entries = await read();
      if (JSON.stringify(entries) === JSON.stringify(before))
        return new Map(
          entries.map(({ key, value = '', mod_revision: revision }) => [key, { value, revision }]),
        );
      before = entries;
    }
    throw new Error(`a new control plane still writes after ${SETTLE_MS} ms`);
  }

  /**
   * Removes all objects that a snapshot lacks, and restores the others, without a word from their finalizers. Returns how
   * many objects had changed, or undefined if the snapshot cannot be restored, because definitions of resources changed.
   */
  async restore(snapshot: Snapshot): Promise<number | undefined> {
    const entries = await this.#entries({ keys_only: true });
    const present = new Map(entries.map(({ key, mod_revision: revision }) => [key, revision]));
    const added = [...present.keys()].filter((key) => !snapshot.has(key));
    const changed = [...snapshot].filter(([key, { revision }]) => present.get(key) !== revision);
    const keys = [...added, ...changed.map(([key]) => key)];
    if (keys.some((key) => definitions.test(decoded(key)))) return undefined;
    const operations = [
      ...inOrderOfOwners(added).map((key) => ({ request_delete_range: { key } })),
      ...changed.map(([key, { value }]) => ({ request_put: { key, value } })),
    ];
    for (let start = 0; start < operations.length; start += MAX_OPERATIONS) {
      const success = operations.slice(start, start + MAX_OPERATIONS);
      const { header } = (await this.#call('/v3/kv/txn', { success })) as { header: { revision: string } };
      // All changes of a transaction have its revision.
      for (const operation of success) {
        if (!('request_put' in operation)) continue;
        const { key, value } = operation.request_put;
        snapshot.set(key, { value, revision: header.revision });
      }
    }
    return operations.length;
  }

  async #entries(options: { keys_only?: boolean } = {}): Promise<Entry[]> {
    const { kvs = [] } = (await this.#call('/v3/kv/range', { ...everything, ...options })) as {
      kvs?: Entry[];
    };
    return kvs.filter(({ key }) => !decoded(key).startsWith(ownLeases));
  }

  async #call(path: string, body: object): Promise<unknown> {
    const call = request({ socketPath: this.#socketPath, method: 'POST', path });
    call.end(JSON.stringify(body));
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    const content = await text(answer);
    if (answer.statusCode !== 200) throw new Error(`etcd answered ${answer.statusCode}: ${content}`);
    return JSON.parse(content);
  }
}

const decoded = (key: string): string => Buffer.from(key, 'base64').toString('utf8');

/** Kinds whose objects controllers would create again for their owners. */
const children = [
  'replicasets',
  'controllerrevisions',
  'pods',
  'endpointslices',
  'services/endpoints',
  'events',
];

/** Namespaces come first, because nothing can be created in one that is gone, and pods come after their workloads. */
function inOrderOfOwners(keys: readonly string[]): string[] {
  const rank = (key: string): number => {
    const name = decoded(key).replace(/^\/registry\//, '');
    return name.startsWith('namespaces/') ? -2 : children.findIndex((kind) => name.startsWith(`${kind}/`));
  };
  return keys.toSorted((a, b) => rank(a) - rank(b));
}
