import { setTimeout as delay } from 'node:timers/promises';
import { maxApprovedVersions, maxPinnedItems } from '@toolhive/contract/tool-pins';
import type { ListedVersion } from '@toolhive/access/fixed-pins';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import { itemKey, parseListed } from '@toolhive/operator/listed-tools';
import type { ListedItem, ListedTools } from '@toolhive/operator/listed-tools';
import type { Logger } from 'pino';

/** How soon lists are written, so that one write contains several lists. */
const collectMs = 1_000;
/** The pause after a write, and the longest one after failures. */
const pauseMs = 5_000;
const longestPauseMs = 60_000;
/** Lists that another program has removed are written again after this time. */
const recheckMs = 60 * 60_000;
/** A ConfigMap has at most 1 MiB. */
const maxBytes = 700 * 1024;
const maxContentBytes = 400 * 1024;
const maxItems = 2 * maxPinnedItems;

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

export interface ListedToolsPlace {
  client: KubernetesClient;
  /** The shared ConfigMap. */
  configMap: { name: string; namespace: string };
  /** This proxy's key. */
  key: string;
}

/**
 * Tells the operator the server's lists. All proxies add to the same lists, and nothing is removed, so that
 * their writes end: a server can have a limited number of versions.
 */
export class ListedToolsReport implements Disposable {
  readonly #place: ListedToolsPlace;
  readonly #log: Logger;
  readonly #seen = new Map<string, ListedItem>();
  readonly #unapproved = new Map<string, number>();
  readonly #over = new AbortController();
  #isComplete = true;
  #hasNews = false;
  #isWriting = false;
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(place: ListedToolsPlace, log: Logger) {
    this.#place = place;
    this.#log = log;
  }

  /** Adds the versions in an answer of the server. */
  readonly add = (versions: readonly ListedVersion[]): void => {
    for (const version of versions) this.#addVersion(version);
    if (performance.now() - this.#writtenAt > recheckMs) this.#hasNews = true;
    if (!this.#hasNews || this.#isWriting || this.#over.signal.aborted) return;
    this.#isWriting = true;
    this.#writeAll()
      .catch((error: unknown) => {
        if (!this.#over.signal.aborted)
          this.#log.error({ err: error }, 'fault in the report of listed tools');
      })
      .finally(() => (this.#isWriting = false));
  };

  [Symbol.dispose](): void {
    this.#over.abort();
  }

  #addVersion({ kind, name, hash, isApproved, content }: ListedVersion): void {
    const key = `${itemKey({ kind, name })} ${hash}`;
    if (this.#seen.has(key)) return;
    const count = this.#unapproved.get(itemKey({ kind, name })) ?? 0;
    const isExcess = this.#seen.size >= maxItems || (!isApproved && count >= maxApprovedVersions);
    if (isExcess && !this.#isComplete) return;
    this.#hasNews = true;
    if (isExcess) {
      this.#isComplete = false;
      this.#log.warn({ kind, item: name }, 'the server lists more versions than are reported');
      return;
    }
    this.#seen.set(key, { kind, name, hash, isListed: true, content });
    if (isApproved) return;
    this.#unapproved.set(itemKey({ kind, name }), count + 1);
    this.#log.warn({ kind, item: name, hash }, 'the server lists an item that differs from its pin');
  }

  async #writeAll(): Promise<void> {
    const { signal } = this.#over;
    await delay(collectMs, undefined, { signal });
    for (let failures = 0; this.#hasNews;) {
      this.#hasNews = false;
      try {
        await this.#write(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.#hasNews = true;
        failures += 1;
        if (failures === 3) this.#log.warn({ err: error }, 'listed tools cannot be reported');
      }
      await delay(Math.min(failures === 0 ? pauseMs : 1_000 * 2 ** failures, longestPauseMs), undefined, {
        signal,
      });
    }
  }

  /** Adds to the shared lists. A change in the meantime is a conflict, after which this is repeated. */
  async #write(signal: AbortSignal): Promise<void> {
    const { client, configMap, key } = this.#place;
    const { metadata, data = {} } = await client.get<ConfigMap>(types.configMap, configMap, { signal });
    const known = parseListed(data[key]) ?? { items: this.#earlier(data), isComplete: true };
    const text = textOf({
      items: merged(known.items, [...this.#seen.values()]),
      isComplete: known.isComplete && this.#isComplete,
    });
    this.#writtenAt = performance.now();
    if (text === data[key]) return;
    const { resourceVersion } = metadata;
    await client.patch(
      types.configMap,
      configMap,
      { metadata: { resourceVersion }, data: { [key]: text } },
      signal,
    );
  }

  /** The texts of versions under other settings, with which changed ones can be compared. */
  #earlier(data: Record<string, string>): ListedItem[] {
    return Object.values(data)
      .flatMap((text) => parseListed(text)?.items ?? [])
      .filter(({ content }) => content !== undefined)
      .map((item) => ({ ...item, isListed: false }));
  }
}

function merged(known: readonly ListedItem[], seen: readonly ListedItem[]): ListedItem[] {
  const all = new Map<string, ListedItem>();
  for (const item of [...known, ...seen]) {
    const key = `${itemKey(item)} ${item.hash}`;
    const before = all.get(key);
    const content = before?.content ?? item.content;
    all.set(key, {
      ...item,
      isListed: item.isListed || before?.isListed === true,
      ...(content === undefined ? {} : { content }),
    });
  }
  return [...all.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, item]) => item);
}

/** The lists as JSON, without the texts and versions that do not fit. Listed versions come first. */
function textOf({ items, isComplete }: ListedTools): string {
  const kept: { index: number; json: string }[] = [];
  let bytes = 0;
  let contentBytes = 0;
  let isWhole = isComplete;
  const order = items
    .map((item, index) => ({ item, index }))
    .toSorted((a, b) => Number(b.item.isListed) - Number(a.item.isListed));
  for (const { item, index } of order) {
    const { content, ...rest } = item;
    const text = content === undefined ? 0 : Buffer.byteLength(JSON.stringify(content));
    const fits = content !== undefined && contentBytes + text <= maxContentBytes;
    if (!item.isListed && !fits) continue;
    const json = JSON.stringify(fits ? item : rest);
    if (bytes + Buffer.byteLength(json) > maxBytes || kept.length >= maxItems) {
      isWhole &&= !item.isListed;
      continue;
    }
    bytes += Buffer.byteLength(json);
    if (fits) contentBytes += text;
    kept.push({ index, json });
  }
  const sorted = kept.toSorted((a, b) => a.index - b.index).map(({ json }) => json);
  return `{"items":[${sorted.join()}],"isComplete":${isWhole}}`;
}
