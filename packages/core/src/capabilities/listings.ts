import type { StatementSync } from 'node:sqlite';
import { messageOf } from '@toolhive/contract/failure';
import { tokensOfTool } from '@toolhive/contract/tokens';
import type { Greeting, ListingSink } from '@toolhive/proxy/listing-capture';
import type { PinnedKind } from '@toolhive/proxy/tool-pinning';
import type { Logger } from 'pino';
import type { ProxyOptions } from '@toolhive/proxy/proxy';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { WorkloadDatabase, WorkloadRows } from '@toolhive/state/workload-database';
import type { PartRun } from '../parts/part.ts';

type Item = Record<string, unknown>;

/** How a list differs from the one before. */
export interface ListChange {
  kind: PinnedKind;
  item: string;
  change: 'changed' | 'new' | 'removed';
}

interface StoredList {
  items: readonly Item[];
  isComplete: boolean;
}

/** What is known of the lists of a server. */
export interface StoredListing {
  /** The time of the server's last answer. */
  at: string;
  greeting: Greeting | undefined;
  lists: Partial<Record<PinnedKind, StoredList>>;
}

export interface ListingsOptions {
  /** Called after changes, at most once per second for each workload. */
  onChanges: (workload: WorkloadId, changes: readonly ListChange[]) => void;
  log: Logger;
  now: () => Date;
}

/** How soon lists are saved. */
const saveMs = 1_000;
/** How many changes are reported at once. */
const maxTold = 20;
const maxInstructions = 64 * 1024;
const maxCapabilities = 16 * 1024;

/** The identifying member of an item, by kind. */
const keys: Readonly<Record<PinnedKind, string>> = {
  instructions: '',
  tool: 'name',
  prompt: 'name',
  resource: 'uri',
  'resource-template': 'uriTemplate',
  skill: 'uri',
};

const greetingKind = 'greeting';
/** Derived from the tools, so that a list of all workloads reads no schemas. */
const costKind = 'cost';
type Part = PinnedKind | typeof greetingKind | typeof costKind;

/** The estimated tokens of each tool, by the server's name of the tool. */
export type ToolCosts = Readonly<Record<string, number>>;

/** A part that has not been saved. Without content, only its time has changed. */
interface Unsaved {
  at: string;
  content?: { value: unknown; isComplete: boolean };
}

/**
 * The servers' latest lists, which remain known while the servers are stopped. Stored only in SQLite, because the
 * proxies limit each list to 1 MiB, and four lists per workload would use too much memory.
 */
export class Listings implements Disposable {
  readonly title = 'the listed tools';
  readonly #options: ListingsOptions;
  readonly #stored: WorkloadRows;
  readonly #put: StatementSync;
  readonly #touch: StatementSync;
  readonly #read: StatementSync;
  readonly #readCosts: StatementSync;
  readonly #unsaved = new Map<WorkloadId, Map<Part, Unsaved>>();
  #timer: NodeJS.Timeout | undefined;

  /** `earlier` is the path of the database of earlier versions. */
  constructor(database: WorkloadDatabase, earlier: string, options: ListingsOptions) {
    this.#options = options;
    this.#stored = database.rows({
      names: ['listings'],
      schema: `
        CREATE TABLE IF NOT EXISTS listings (
          workload TEXT NOT NULL, part TEXT NOT NULL, at TEXT NOT NULL, is_complete INTEGER NOT NULL,
          content TEXT NOT NULL, PRIMARY KEY (workload, part)
        ) STRICT;
      `,
      earlier,
    });
    this.#put = this.#stored.prepare('INSERT OR REPLACE INTO listings VALUES (?, ?, ?, ?, ?)');
    this.#touch = this.#stored.prepare('UPDATE listings SET at = ? WHERE workload = ? AND part = ?');
    this.#read = this.#stored.prepare(
      'SELECT part, at, is_complete, content FROM listings WHERE workload = ?',
    );
    this.#readCosts = this.#stored.prepare(
      `SELECT workload, content FROM listings WHERE part = '${costKind}'`,
    );
  }

  /**
   * Receives lists from a workload's proxy. `serverVersion` is the server's protocol version, because the greeting
   * contains the client's version.
   */
  sinkFor(workload: WorkloadId, serverVersion: () => string | undefined): ListingSink {
    const take = (part: Part, value: unknown, isComplete: boolean): void =>
      this.#take(workload, part, { at: this.#now(), content: { value, isComplete } });
    return {
      greeted(greeting) {
        const protocolVersion = serverVersion() ?? greeting.protocolVersion;
        take(greetingKind, { ...bounded(greeting), protocolVersion }, true);
      },
      listed: (kind, items, isComplete) => take(kind, items, isComplete),
      unchanged: (kind) => {
        const before = this.#unsaved.get(workload)?.get(kind);
        this.#take(workload, kind, { ...before, at: this.#now() });
      },
    };
  }

  /** A server's latest list. Undefined if the server was never listed. */
  of(workload: WorkloadId): StoredListing | undefined {
    this.#save();
    const rows = this.#rows(workload);
    if (rows.length === 0) return undefined;
    const listing: StoredListing = { at: '', greeting: undefined, lists: {} };
    for (const { part, at, isComplete, content } of rows) {
      if (at > listing.at) listing.at = at;
      // Written by `#save`.
      if (part === costKind) continue;
      if (part === greetingKind) listing.greeting = JSON.parse(content) as Greeting;
      else listing.lists[part] = { items: JSON.parse(content) as Item[], isComplete };
    }
    return listing;
  }

  /** What the tools of each server cost, in one query for all of them. */
  costs(): ReadonlyMap<WorkloadId, ToolCosts> {
    this.#save();
    const rows = this.#orLogged(() => this.#readCosts.all()) ?? [];
    return new Map(
      // Written by `#saveParts`.
      rows.map((row) => [row['workload'] as WorkloadId, JSON.parse(String(row['content'])) as ToolCosts]),
    );
  }

  proxyOptions({ id }: StoredRunConfig, { serverVersion }: PartRun): Partial<ProxyOptions> {
    return { listings: this.sinkFor(id, serverVersion) };
  }

  /** The workloads that lists are stored of. */
  ids(): WorkloadId[] {
    return this.#stored.ids();
  }

  forget(workload: WorkloadId): void {
    this.#unsaved.delete(workload);
    this.#stored.forget(workload);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#save();
  }

  #take(workload: WorkloadId, part: Part, unsaved: Unsaved): void {
    const parts = this.#unsaved.get(workload) ?? new Map<Part, Unsaved>();
    this.#unsaved.set(workload, parts.set(part, unsaved));
    this.#timer ??= setTimeout(() => this.#save(), saveMs).unref();
  }

  #save(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const unsaved = [...this.#unsaved];
    this.#unsaved.clear();
    for (const [workload, parts] of unsaved) {
      const changes = this.#orLogged(() => this.#saveParts(workload, parts)) ?? [];
      if (changes.length > 0) this.#options.onChanges(workload, changes.slice(0, maxTold));
    }
  }

  /** Returns how the lists differ from those before. */
  #saveParts(workload: WorkloadId, parts: ReadonlyMap<Part, Unsaved>): ListChange[] {
    const before = new Map(this.#rows(workload).map((row) => [row.part, row.content]));
    const changes: ListChange[] = [];
    for (const [part, { at, content }] of parts) {
      if (content === undefined) {
        this.#touch.run(at, workload, part);
        continue;
      }
      const text = JSON.stringify(content.value);
      const isComplete = content.isComplete ? 1 : 0;
      this.#put.run(workload, part, at, isComplete, text);
      if (part === 'tool')
        this.#put.run(workload, costKind, at, isComplete, costsOf(content.value as Item[]));
      const known = before.get(part);
      if (part !== greetingKind && part !== costKind && known !== undefined && known !== text) {
        changes.push(...changesOf(part, JSON.parse(known) as Item[], content.value as readonly Item[]));
      }
    }
    return changes;
  }

  #rows(workload: WorkloadId): { part: Part; at: string; isComplete: boolean; content: string }[] {
    const rows = this.#orLogged(() => this.#read.all(workload)) ?? [];
    return rows.map((row) => ({
      part: row['part'] as Part, // written by `#saveParts`
      at: String(row['at']),
      isComplete: row['is_complete'] === 1,
      content: String(row['content']),
    }));
  }

  #orLogged<Result>(work: () => Result): Result | undefined {
    try {
      return work();
    } catch (error) {
      this.#options.log.error({ why: messageOf(error) }, 'lists of servers could not be saved or read');
      return undefined;
    }
  }

  #now(): string {
    return this.#options.now().toISOString();
  }
}

function bounded({ instructions, capabilities, ...greeting }: Greeting): Greeting {
  return {
    ...greeting,
    instructions: instructions?.slice(0, maxInstructions),
    capabilities: JSON.stringify(capabilities).length > maxCapabilities ? {} : capabilities,
  };
}

function changesOf(kind: PinnedKind, before: readonly Item[], after: readonly Item[]): ListChange[] {
  const textsOf = (items: readonly Item[]): Map<string, string> =>
    new Map(items.map((item) => [nameOf(kind, item), JSON.stringify(item)]));
  const [old, present] = [textsOf(before), textsOf(after)];
  const told = (item: string, change: ListChange['change']): ListChange => ({ kind, item, change });
  return [
    ...[...present].flatMap(([name, text]) => {
      const known = old.get(name);
      return known === text ? [] : [told(name, known === undefined ? 'new' : 'changed')];
    }),
    ...[...old.keys()].filter((name) => !present.has(name)).map((name) => told(name, 'removed')),
  ];
}

function costsOf(tools: readonly Item[]): string {
  return JSON.stringify(Object.fromEntries(tools.map((tool) => [nameOf('tool', tool), tokensOfTool(tool)])));
}

const maxName = 256;

function nameOf(kind: PinnedKind, item: Item): string {
  const name = item[keys[kind]];
  return typeof name === 'string' ? name.slice(0, maxName) : '';
}
