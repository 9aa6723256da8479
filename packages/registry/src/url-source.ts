import { setTimeout as wait } from 'node:timers/promises';
import { isRecent } from '@toolhive/contract/clock';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import type { Logger } from 'pino';
import { loadCopy, saveCopy } from './copy.ts';
import type { Copy } from './copy.ts';
import { fetchRegistry } from './fetch-registry.ts';
import type { FetchOptions } from './fetch-registry.ts';
import { unread } from './source.ts';
import type { Source, SourceState } from './source.ts';

export interface UrlSourceOptions {
  url: string;
  allowPrivate: boolean;
  /** Where copies are kept between starts. */
  cacheDir: string;
  log: Logger;
  fetch: FetchOptions['fetch'];
  now: () => Date;
  onChange: () => void;
  /** How long callers wait for the first copy. The fetch continues after that. */
  patienceMs?: number;
}

/** The age at which a copy is refreshed, and the delay after a failure. */
const freshMs = 5 * 60_000;
const retryMs = 30_000;
const defaultPatienceMs = 20_000;

/**
 * A registry at a URL. The last copy is always available, also on disk, and is refreshed in the background. Callers
 * wait for the network only if no copy exists.
 */
export class UrlSource implements Source {
  readonly type = 'url';
  readonly place: string;
  readonly #options: UrlSourceOptions;
  readonly #closing = new AbortController();
  #copy: Copy | undefined;
  #failure: { why: string; at: number } | undefined;
  #flight: Promise<void> | undefined;

  constructor(options: UrlSourceOptions, copy?: Copy) {
    this.#options = options;
    this.place = options.url.replace(/\/\/[^/@]*@/, '//'); // such an address is refused, and its password not shown
    this.#copy = copy;
  }

  /** Loads an earlier daemon's copy. */
  static async open(options: UrlSourceOptions): Promise<UrlSource> {
    return new UrlSource(options, await loadCopy(options.cacheDir, options.url));
  }

  get state(): SourceState {
    const isComing = this.#copy === undefined && this.#flight !== undefined;
    const problem =
      this.#failure?.why ??
      this.#copy?.problem ??
      (isComing ? 'the registry is still being read' : undefined);
    const said = problem === undefined ? {} : { problem };
    if (this.#copy === undefined) return { ...unread, ...said };
    const { registry, skipped, fetchedAt } = this.#copy;
    return { registry, skipped, fetchedAt, isUnread: false, isStale: this.#failure !== undefined, ...said };
  }

  /** Reads a URL for the first time. Throws if it has no registry. */
  static async prove(options: UrlSourceOptions, signal: AbortSignal): Promise<UrlSource> {
    const source = new UrlSource(options);
    await source.#fetch(signal);
    return source;
  }

  async read(): Promise<void> {
    const now = this.#options.now().getTime();
    if (this.#failure !== undefined && isRecent(this.#failure.at, retryMs, now)) return;
    if (this.#copy === undefined) await this.#firstCopy();
    else if (!isRecent(Date.parse(this.#copy.fetchedAt), freshMs, now)) this.refresh().catch(raiseFault); // held by #flight
  }

  async #firstCopy(): Promise<void> {
    const done = new AbortController();
    const { patienceMs = defaultPatienceMs } = this.#options;
    const patience = wait(patienceMs, undefined, { ref: false, signal: done.signal }).catch(() => {}); // no longer needed
    await Promise.race([this.refresh(), patience]);
    done.abort();
  }

  refresh(): Promise<void> {
    this.#flight ??= this.#revalidate().finally(() => {
      this.#flight = undefined;
    });
    return this.#flight;
  }

  async #revalidate(): Promise<void> {
    const { log, now, onChange } = this.#options;
    const before = this.#looks();
    try {
      await this.#fetch(this.#closing.signal);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      log.warn({ err: error }, 'registry could not be read');
      this.#failure = { why: messageOf(error), at: now().getTime() };
    }
    if (this.#looks() !== before) onChange();
  }

  async #fetch(signal: AbortSignal): Promise<void> {
    const { url, allowPrivate, cacheDir, fetch, now, log } = this.#options;
    const present = this.#copy;
    const fetched = await fetchRegistry(url, {
      allowPrivate,
      signal,
      validators: present?.validators,
      ...(fetch === undefined ? {} : { fetch }),
    });
    const said = fetched ?? present;
    if (said === undefined) throw unavailable('the server reports no changes, but no copy exists');
    this.#copy = { ...said, fetchedAt: now().toISOString() };
    this.#failure = undefined;
    await saveCopy(cacheDir, url, this.#copy).catch((error: unknown) => {
      log.warn({ err: error }, 'copy of the registry could not be kept'); // the copy is only for the next start
    });
  }

  /** All visible state except the time of the last check. */
  #looks(): string {
    const { fetchedAt, ...visible } = this.state;
    void fetchedAt;
    return JSON.stringify(visible);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#flight;
  }
}
