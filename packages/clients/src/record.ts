import type { ClientName } from '@toolhive/contract/client-application';
import { unavailable } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { Logger } from 'pino';
import { readIfThere, writeWhole } from '@toolhive/state/files';
import { setAside } from '@toolhive/state/set-aside';
import { Latest } from './latest.ts';

/**
 * What is ours in one file: for each name, the URLs that our entry may have there. There is more than one only
 * between the moment before an entry is changed and the one after.
 */
export type OwnEntries = ReadonlyMap<string, readonly string[]>;

const RecordFile = z.looseObject({
  clients: z.record(z.string(), z.record(z.string(), z.array(z.string()))),
});

/** The entries in client files that ToolHive created, stored on disk. */
export class EntryRecord {
  readonly #path: string;
  readonly #saves: Latest;
  readonly #clients: Map<string, OwnEntries>;
  #changes = 0;
  #written = 0;

  private constructor(path: string, clients: Map<string, OwnEntries>) {
    this.#path = path;
    this.#clients = clients;
    this.#saves = new Latest(() => this.#write());
  }

  /** An invalid file is set aside. In that case no entry counts as ToolHive's. */
  static async open(path: string, log: Logger): Promise<EntryRecord> {
    try {
      const text = await readIfThere(path);
      return new EntryRecord(path, text === undefined ? new Map() : parse(text));
    } catch (cause) {
      if ((await setAside(path, cause, log)) === path) {
        throw unavailable(`${path} cannot be read or renamed`, { cause });
      }
      return new EntryRecord(path, new Map());
    }
  }

  of(client: ClientName): OwnEntries {
    return this.#clients.get(client) ?? new Map();
  }

  /** Returns when the record is on disk, immediately if nothing changed. */
  async save(client: ClientName, entries: OwnEntries): Promise<void> {
    if (!isSame(this.of(client), entries)) {
      if (entries.size === 0) this.#clients.delete(client);
      else this.#clients.set(client, entries);
      this.#changes += 1;
    }
    if (this.#written < this.#changes) await this.#saves.request();
  }

  async #write(): Promise<void> {
    const clients = Object.fromEntries(
      this.#clients.entries().map(([client, entries]) => [client, Object.fromEntries(entries)]),
    );
    const changes = this.#changes;
    await writeWhole(this.#path, `${JSON.stringify({ clients }, null, 2)}\n`);
    this.#written = changes;
  }
}

function parse(text: string): Map<string, OwnEntries> {
  const { clients } = RecordFile.parse(JSON.parse(text));
  return new Map(
    Object.entries(clients).map(([client, entries]) => [client, new Map(Object.entries(entries))]),
  );
}

function isSame(one: OwnEntries, other: OwnEntries): boolean {
  return (
    one.size === other.size && one.entries().every(([name, urls]) => String(urls) === String(other.get(name)))
  );
}
