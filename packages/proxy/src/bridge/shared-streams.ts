import { createHash } from 'node:crypto';
import type { TokenBuckets } from '../middleware/rate-limit.ts';
import { Seal } from '../sealing/seal.ts';
import type { SealKeys } from '../sealing/seal.ts';

/** Storage that all proxies of a workload share. Every promise settles soon, also if the storage does not answer. */
export interface SharedStorage extends TokenBuckets {
  /** Appends values to a list, which keeps the newest ones and is forgotten after a time without a change. */
  append: (
    key: string,
    values: readonly string[],
    limits: { items: number; keptMs: number },
  ) => Promise<void>;
  /** Returns the values of a list, the oldest first. */
  read: (key: string) => Promise<string[]>;
}

export interface SharedStreamsOptions {
  workload: string;
  keys: SealKeys;
  storage: SharedStorage;
  now?: () => number;
}

/** One event of a stream, or with the number 0 its beginning. */
interface StoredEvent {
  number: number;
  text?: string;
  /** The ID of the client's request that the stream belongs to. Absent for the stream of the session. */
  request?: string | number;
  /** This event is the answer. */
  isLast?: true;
}

/** The stored part of a stream. */
export interface KeptStream {
  events: readonly { number: number; text: string }[];
  request?: string | number;
  isComplete: boolean;
}

/** The subscriptions and the log level of a session. */
export interface SessionSetup {
  subscriptions: readonly string[];
  logLevel?: string | undefined;
}

/** Whose stream or setup is stored. */
export interface StoredOwner {
  session: string;
  principal: string;
}

/** How long the events stay of a stream that gets no more of them. Its client has to come back within this time. */
const keptMs = 60 * 60_000;
/** How many events of a stream are kept. The first item says that the stream began. */
const maxItems = 101;
/** A longer event is not stored, and neither are events that the storage takes too slowly. */
const maxEventChars = 256 * 1024;
const maxWaitingChars = 8 * 1024 * 1024;
const setupName = 'setup';

/**
 * The events of resumable streams in a storage that all proxies share, so that a client whose proxy has ended gets the
 * events that it missed from another one. All values are sealed for their workload, session, caller, and stream. A program that can
 * write to the storage can remove events, but not add, change, or exchange them. Nothing waits for the storage to write.
 */
export class SharedStreams implements AsyncDisposable {
  readonly #options: SharedStreamsOptions;
  readonly #seal: Seal;
  /** The values that wait to be written, by key. */
  #waiting = new Map<string, string[]>();
  #waitingChars = 0;
  #writing: Promise<void> | undefined;

  constructor(options: SharedStreamsOptions) {
    this.#options = options;
    this.#seal = new Seal(options.now, options.keys);
  }

  /** Stores an event of a stream, some time later. */
  record(owner: StoredOwner, stream: string, event: StoredEvent): void {
    this.#write(this.#placeOf(owner, stream), event);
  }

  /** Stores the setup of a session, some time later. */
  recordSetup(owner: StoredOwner, setup: SessionSetup): void {
    this.#write(this.#placeOf(owner, setupName), setup, 1);
  }

  /** Returns the kept events of a stream. Undefined without any, or if the storage does not answer. */
  async stream(owner: StoredOwner, stream: string): Promise<KeptStream | undefined> {
    const stored = (await this.#read(this.#placeOf(owner, stream))) as StoredEvent[];
    const [first] = stored;
    if (first === undefined) return undefined;
    const events = new Map(
      stored.flatMap(({ number, text }) => (text === undefined ? [] : [[number, text]])),
    );
    return {
      events: [...events].map(([number, text]) => ({ number, text })).toSorted((a, b) => a.number - b.number),
      ...(first.request === undefined ? {} : { request: first.request }),
      isComplete: stored.some(({ isLast }) => isLast === true),
    };
  }

  /** Returns the setup of a session. Undefined if nothing is known. */
  async setup(owner: StoredOwner): Promise<SessionSetup | undefined> {
    return ((await this.#read(this.#placeOf(owner, setupName))) as SessionSetup[]).at(-1);
  }

  /** Waits until everything is written. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writing;
  }

  #placeOf({ session, principal }: StoredOwner, name: string): { key: string; bound: string } {
    const { workload } = this.#options;
    const bound = JSON.stringify(['stream', workload, principal, session, name]);
    return { bound, key: createHash('sha256').update(bound).digest('base64url') };
  }

  #write({ key, bound }: { key: string; bound: string }, content: object, items = maxItems): void {
    const sealed = this.#seal.seal(JSON.stringify(content), bound, keptMs);
    if (sealed.length > maxEventChars || this.#waitingChars + sealed.length > maxWaitingChars) return; // a gap, which the reader sees
    const values = items === 1 ? [] : (this.#waiting.get(key) ?? []);
    this.#waiting.set(key, [...values, sealed].slice(-items));
    this.#waitingChars += sealed.length;
    this.#writing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    while (this.#waiting.size > 0) {
      const waiting = this.#waiting;
      this.#waiting = new Map();
      this.#waitingChars = 0;
      const { storage } = this.#options;
      const limits = { items: maxItems, keptMs };
      // A failed write is a gap, which the reader sees. The storage itself reports that it does not answer.
      await Promise.allSettled([...waiting].map(([key, values]) => storage.append(key, values, limits)));
    }
    this.#writing = undefined;
  }

  /** Returns the contents that were sealed for this place. Everything else in the storage is ignored. */
  async #read({ key, bound }: { key: string; bound: string }): Promise<unknown[]> {
    const values = await this.#options.storage.read(key).catch((): string[] => []);
    return values.flatMap((value) => {
      const content = this.#seal.unseal(value, bound);
      return content === undefined ? [] : [JSON.parse(content) as unknown]; // written by `#write`
    });
  }
}

/** Returns the events after one that the client names. Undefined if one of them is missing. */
export function eventsAfter({ events }: KeptStream, last: number): KeptStream['events'] | undefined {
  const later = events.filter(({ number }) => number > last);
  return later.every(({ number }, at) => number === last + 1 + at) ? later : undefined;
}
