import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import type { KubernetesObject, ResourceType } from '@toolhive/kubernetes/object';
import { ApiStatus, isGone } from '@toolhive/kubernetes/status';
import { decisive } from './managed-fields.ts';
import type { Turns } from './turns.ts';

export interface ReflectorOptions {
  client: KubernetesClient;
  type: ResourceType;
  /** The namespaces to follow. Undefined means all namespaces. */
  namespaces: readonly (string | undefined)[];
  labelSelector?: string;
  /** Limits how many lists are read at once. */
  turns?: Turns;
  /** Keep metadata only. */
  metadataOnly?: boolean;
  /** Keep the records of who set which field, which are half of an object. */
  keepsRecords?: boolean;
  /** Keep texts instead of objects, which need less memory but have to be parsed on each access. */
  isPacked?: boolean;
  /**
   * Called for each change of the cache, with the object before the change, and whether `observe` made the change. A new or
   * a removed object has no object before.
   */
  onChange: (object: KubernetesObject, previous: KubernetesObject | undefined, isOwn: boolean) => void;
  /** Called after each list and at the start of each watch, from which on the copy of a namespace is complete. */
  onRead?: (namespace: string | undefined) => void;
  onError: (error: unknown, retryInMs: number, namespace: string | undefined) => void;
}

/**
 * The server ends a watch after this time, and the next one continues over the same connection. Jitter keeps watches of
 * different kinds apart. Where nothing else shows that a connection is half-open, watches are short, because an idle watch
 * is silent for a minute.
 */
const LONG_WATCH = { seconds: 1_500, jitterSeconds: 600 };
const SHORT_WATCH = { seconds: 18, jitterSeconds: 6 };
/** A watch that the server has not ended so long after its time has a dead connection. */
const GRACE_MS = 3_000;
/** The copy counts as old after this time without a word from the server. */
const FRESH_MS = 300_000;
/** The server usually keeps a watch for much longer. */
const SHORT_WATCH_MS = 1_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;
/** The server decides how long it needs, within reason. */
const LAST_WANTED_RETRY_MS = 60_000;
/** More objects than disappear while an answer is on its way. */
const MAX_REMOVED = 5_000;
/** The version of a watch may be wrong when the server has refused the watch so often. */
const MAX_REFUSALS = 3;

/** The key of an object in caches and queues. */
export function keyOf({ metadata }: { metadata: { name: string; namespace?: string } }): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** The namespace in a key. */
export function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}

interface Version {
  uid: string | undefined;
  resourceVersion: string | undefined;
}

/** An object of the copy, or its text. */
interface Entry extends Version {
  content: KubernetesObject | string;
}

function contentOf({ content }: Entry): KubernetesObject {
  return typeof content === 'string' ? (JSON.parse(content) as KubernetesObject) : content; // written by #store
}

/** A local copy of all objects of a kind, which follows the API server through every kind of failure. */
export class Reflector {
  readonly #options: ReflectorOptions;
  readonly #entries = new Map<string, Entry>();
  /** The versions at which objects left the copy. */
  readonly #removed = new Map<string, Version>();
  readonly #filled = Promise.withResolvers<void>();
  #lastContact = performance.now();
  #filledCount = 0;
  #openWatches = 0;

  constructor(options: ReflectorOptions) {
    this.#options = options;
  }

  /** Resolves when the first list has arrived. */
  get filled(): Promise<void> {
    return this.#filled.promise;
  }

  get isFilled(): boolean {
    return this.#filledCount >= this.#options.namespaces.length;
  }

  /** Whether the server was heard from recently enough to trust the copy. */
  get isFresh(): boolean {
    // A watch that the client watches over is as good as a word.
    if (this.#openWatches > 0 && this.#options.client.noticesDeath) return true;
    return performance.now() - this.#lastContact < FRESH_MS;
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the kind of this reflector
  get<T extends KubernetesObject>(key: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry === undefined ? undefined : (contentOf(entry) as T); // the reflector holds one kind
  }

  /** Identifies the content of an object without reading the content. */
  version(key: string): string | undefined {
    const entry = this.#entries.get(key);
    return entry && `${entry.uid ?? ''}/${entry.resourceVersion ?? ''}`;
  }

  all<T extends KubernetesObject>(): T[] {
    return [...this.#entries.values()].map(contentOf) as T[]; // see above
  }

  /** Takes over an object that a write returned, so that the next pass does not read an older version. */
  observe(object: KubernetesObject): void {
    this.#store(object, true);
  }

  /** Removes an object that the server no longer has. */
  forget(key: string): void {
    this.#entries.delete(key);
  }

  /** Follows the API server until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#options.namespaces.map((namespace) => this.#follow(namespace, signal)));
  }

  async #follow(namespace: string | undefined, signal: AbortSignal): Promise<void> {
    let isListed = false;
    let version: string | undefined;
    let failures = 0;
    let refusals = 0;
    const onSuccess = (): void => {
      failures = 0;
      refusals = 0;
    };
    while (!signal.aborted) {
      try {
        if (version === undefined) {
          version = await this.#list(namespace, signal);
          this.#options.onRead?.(namespace);
        }
        if (!isListed) {
          isListed = true;
          this.#filledCount += 1;
          if (this.isFilled) this.#filled.resolve();
        }
        version = await this.#watch(namespace, version, signal, onSuccess);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        if (error instanceof ApiStatus) {
          refusals += 1; // a broken connection says nothing about the version
          this.#lastContact = performance.now();
        }
        // The version can be too old, or the server can have lost it: a list is always right.
        if (isGone(error) || refusals >= MAX_REFUSALS) version = undefined;
        await this.#backOff(error, failures, namespace, signal);
      }
    }
  }

  async #backOff(
    error: unknown,
    failures: number,
    namespace: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = error instanceof ApiStatus ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    const exponential = Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures, 10), LAST_RETRY_MS);
    const retryInMs = Math.max(
      Math.min(wanted, LAST_WANTED_RETRY_MS) * (1 + Math.random() / 4),
      exponential * (0.75 + Math.random() / 4),
    );
    this.#options.onError(error, retryInMs, namespace);
    try {
      await delay(retryInMs, undefined, { signal });
    } catch {
      // The loop sees the abort.
    }
  }

  async #list(namespace: string | undefined, signal: AbortSignal): Promise<string> {
    const { client, type, labelSelector, metadataOnly = false, turns } = this.#options;
    const list = () => client.list(type, { namespace, labelSelector, metadataOnly, signal });
    const { resourceVersion, items } = await (turns === undefined ? list() : turns.run(list));
    this.#lastContact = performance.now();
    const keys = new Set(items.map(keyOf));
    for (const [key, entry] of this.#entries) {
      const isListed = namespace === undefined || key.startsWith(`${namespace}/`);
      if (isListed && !keys.has(key)) this.#remove(contentOf(entry));
    }
    for (const object of items) this.#store(object);
    return resourceVersion;
  }

  async #watch(
    namespace: string | undefined,
    resourceVersion: string,
    signal: AbortSignal,
    onSuccess: () => void,
  ): Promise<string> {
    const { client, type, labelSelector, metadataOnly = false } = this.#options;
    const { seconds, jitterSeconds } = client.noticesDeath ? LONG_WATCH : SHORT_WATCH;
    const timeoutSeconds = seconds + Math.floor(Math.random() * jitterSeconds);
    const dead = new AbortController();
    const hang = setTimeout(
      () => dead.abort(new Error('the connection of the watch is dead')),
      timeoutSeconds * 1_000 + GRACE_MS,
    );
    const startedAt = performance.now();
    let version = resourceVersion;
    this.#openWatches += 1;
    try {
      const events = client.watch(type, {
        namespace,
        labelSelector,
        metadataOnly,
        resourceVersion,
        timeoutSeconds,
        signal: AbortSignal.any([signal, dead.signal]),
        // An earlier attempt may have been refused after the list.
        onOpen: () => this.#options.onRead?.(namespace),
        onBytes: () => (this.#lastContact = performance.now()),
      });
      for await (const { type: change, object } of events) {
        onSuccess();
        version = object.metadata.resourceVersion ?? version;
        if (change === 'DELETED') this.#remove(object);
        else if (change !== 'BOOKMARK') this.#store(object);
      }
      if (performance.now() - startedAt < SHORT_WATCH_MS) throw new Error('the server ended the watch early');
      onSuccess();
      return version;
    } catch (error) {
      if (performance.now() - startedAt > LAST_RETRY_MS) onSuccess(); // the next watch may start at once
      throw error;
    } finally {
      this.#openWatches -= 1;
      clearTimeout(hang);
    }
  }

  #store(object: KubernetesObject, isOwn = false): void {
    const key = keyOf(object);
    const { uid, resourceVersion } = object.metadata;
    const entry = this.#entries.get(key);
    if (entry !== undefined && isOlder({ uid, resourceVersion }, entry)) return;
    const removed = this.#removed.get(key);
    // The answer to a write can arrive after the news that the object has gone.
    if (removed !== undefined && !isOlder(removed, { uid, resourceVersion }) && removed.uid === uid) return;
    this.#removed.delete(key);
    const previous = entry === undefined ? undefined : contentOf(entry);
    if (this.#options.keepsRecords === true) object.metadata.managedFields = decisive(object.metadata);
    else delete object.metadata.managedFields;
    const content = this.#options.isPacked === true ? JSON.stringify(object) : object;
    this.#entries.set(key, { uid, resourceVersion, content });
    if (entry?.resourceVersion !== resourceVersion) this.#options.onChange(object, previous, isOwn);
  }

  #remove(object: KubernetesObject): void {
    const key = keyOf(object);
    const { uid, resourceVersion } = object.metadata;
    this.#entries.delete(key);
    this.#removed.set(key, { uid, resourceVersion });
    const [oldest] = this.#removed.keys();
    if (this.#removed.size > MAX_REMOVED && oldest !== undefined) this.#removed.delete(oldest);
    this.#options.onChange(object, undefined, false);
  }
}

/** Whether one version of the same incarnation precedes another. Resource versions are comparable numbers. */
function isOlder(one: Version, other: Version): boolean {
  if (one.uid !== other.uid) return false;
  return BigInt(one.resourceVersion ?? 0) < BigInt(other.resourceVersion ?? 0);
}
