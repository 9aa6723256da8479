import { messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import { elementsOf, isObject, spanOf } from '@toolhive/proxy/message';
import type { Message } from '@toolhive/proxy/message';
import { kinds } from './kinds.ts';
import type { Kind } from './kinds.ts';

/** A thing that a server lists, with the text in which the server describes it. */
export interface Item {
  name: string;
  value: Record<string, unknown>;
  text: string;
}

export interface MemberListOptions {
  kind: Kind;
  /** Aborts when the list is not needed any more. */
  signal: AbortSignal;
  ask: (method: string, params: Record<string, unknown>, signal: AbortSignal) => Promise<Message>;
  /** Whether the server has lists of this kind. Rejects if it does not say. */
  isOffered: () => Promise<boolean>;
  onChange: () => void;
}

/** How long a server may take for a list. */
const listingMs = 20_000;
/** How long to wait before the list of a server that has failed is read again, at first and at most. */
const retryMs = 1_000;
const maxRetryMs = 60_000;
const maxPages = 100;
const maxItems = 2_000;
const maxItemChars = 64 * 1024;
const maxListChars = 8 * 1024 * 1024;
const maxNameChars = 2_048;

interface ReadList {
  items: ReadonlyMap<string, Item>;
  isTruncated: boolean;
}

const nothing: ReadList = { items: new Map(), isTruncated: false };

/** One list of one server, kept current. While it is read again, the previous one counts. */
export class MemberList {
  /** Increases with each change. */
  revision = 0;
  /** Since when clients wait for the first list, or for the list of a server that had failed. */
  pendingSinceMs: number | undefined = performance.now();
  readonly #options: MemberListOptions;
  #items: ReadonlyMap<string, Item> = new Map();
  #problem: string | undefined;
  #isTruncated = false;
  #isStale = false;
  #refreshing: Promise<void> | undefined;
  #retryMs = retryMs;
  #retry: NodeJS.Timeout | undefined;

  constructor(options: MemberListOptions) {
    this.#options = options;
  }

  get items(): Iterable<Item> {
    return this.#items.values();
  }

  /** Why the list could not be read. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The server lists more than is passed on. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  /** Settles when the list that is being read has been read. */
  get settled(): Promise<void> | undefined {
    return this.#refreshing;
  }

  find(name: string): Item | undefined {
    return this.#items.get(name);
  }

  /** Reads the list again, once for all changes that happen in the meantime. Never rejects. */
  refresh(): Promise<void> {
    this.#isStale = true;
    return (this.#refreshing ??= this.#readWhileStale().finally(() => {
      this.#refreshing = undefined;
      if (this.#isStale && !this.#options.signal.aborted) this.refresh().catch(raiseFault);
    }));
  }

  async #readWhileStale(): Promise<void> {
    const { signal, onChange } = this.#options;
    while (this.#isStale && !signal.aborted) {
      this.#isStale = false;
      const before = {
        items: this.#items,
        problem: this.#problem,
        isPending: this.pendingSinceMs !== undefined,
      };
      try {
        const { items, isTruncated } = (await this.#options.isOffered()) ? await this.#read() : nothing;
        this.#items = items;
        this.#isTruncated = isTruncated;
        this.#problem = undefined;
        this.#retryMs = retryMs;
      } catch (error) {
        this.#items = new Map();
        this.#problem = messageOf(error);
        this.#retryLater();
      }
      this.pendingSinceMs = undefined;
      if (signal.aborted) return;
      const isSame =
        !before.isPending && before.problem === this.#problem && areSame(before.items, this.#items);
      if (isSame) continue;
      this.revision++;
      onChange();
    }
  }

  #retryLater(): void {
    if (this.#options.signal.aborted) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      if (!this.#options.signal.aborted) this.refresh().catch(raiseFault);
    }, this.#retryMs).unref();
    this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs);
  }

  async #read(): Promise<ReadList> {
    const { kind, ask } = this.#options;
    const { method } = kinds[kind];
    const signal = AbortSignal.any([this.#options.signal, AbortSignal.timeout(listingMs)]);
    const items = new Map<string, Item>();
    const cursors = new Set<unknown>();
    let chars = 0;
    let isTruncated = false;
    for (let cursor: unknown; ;) {
      const response = await ask(method, cursor === undefined ? {} : { cursor }, signal);
      if (response.value.error !== undefined) throw new Error(response.value.error.message);
      for (const item of itemsIn(response, kind)) {
        chars += item.text.length;
        if (items.size >= maxItems || chars > maxListChars || !isAcceptable(item)) isTruncated = true;
        else if (!items.has(item.name)) items.set(item.name, item);
      }
      cursors.add(cursor);
      const { result } = response.value;
      cursor = isObject(result) ? (result['nextCursor'] ?? undefined) : undefined;
      if (cursor === undefined) return { items, isTruncated };
      const isEndless = cursors.has(cursor) || cursors.size >= maxPages;
      if (isEndless || items.size >= maxItems || chars > maxListChars) return { items, isTruncated: true };
    }
  }
}

function itemsIn({ text, value: { result } }: Message, kind: Kind): Item[] {
  const { member, key } = kinds[kind];
  const values = isObject(result) ? result[member] : undefined;
  const span = spanOf(text, ['result', member]);
  if (!Array.isArray(values) || span === undefined) return [];
  const texts = elementsOf(text.slice(...span));
  return values.flatMap((value: unknown, at) => {
    const name = isObject(value) ? value[key] : undefined;
    return isObject(value) && typeof name === 'string' ? [{ name, value, text: texts[at] ?? '' }] : [];
  });
}

function isAcceptable({ name, text }: Item): boolean {
  return name.length > 0 && name.length <= maxNameChars && text.length <= maxItemChars;
}

function areSame(one: ReadonlyMap<string, Item>, other: ReadonlyMap<string, Item>): boolean {
  if (one.size !== other.size) return false;
  return [...one.values()].every(({ name, text }) => other.get(name)?.text === text);
}
