import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { unavailable } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import type { History as HistoryAnswer } from '@toolhive/contract/history';
import { printable } from '@toolhive/contract/printable';
import { openRecoverable } from '@toolhive/state/recoverable-database';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { Logger } from 'pino';
import { CallStore, callLimits } from './call-store.ts';
import type { CallQuery, StoredCall } from './call-store.ts';
import { FigureStore } from './figure-store.ts';
import { OpenFigures, hourMs, minuteMs } from './open-figures.ts';
import type { CountedCall } from './open-figures.ts';
import { readFigures } from './read-figures.ts';
import type { FigureRequest } from './read-figures.ts';

/** How soon calls are written, and figures. A crash loses these last seconds. */
const saveMs = { calls: 1_000, figures: 10_000 };
/** How much is written in one transaction, because nothing else runs in the meantime. */
const atOnce = 150;
/** A workload keeps about a thousand calls in memory. */
const batchesOfWorkload = 8;
/** How many figures wait in memory while nothing can be written. Each takes at most 0.7 KiB. */
const maxWaiting = 20_000;

/** The limits of the database: about 150 MiB on a disk, and a twentieth in memory if no file can be written. */
const onDisk = { figures: 400_000, calls: callLimits };
const inMemory = {
  figures: onDisk.figures / 20,
  calls: { ...callLimits, calls: callLimits.calls / 20, bytes: callLimits.bytes / 20 },
};

export interface HistoryOptions {
  log: Logger;
  now: () => Date;
  /** Whether a workload exists. Calls after its removal are not stored. */
  isKnown: (workload: WorkloadId) => boolean;
  /** Removes known secrets from a text. */
  withoutSecrets: (text: string) => string;
  /** Replaces the limits, in tests. */
  limits?: typeof onDisk;
}

/** The latest calls of a workload, of which the history stores those that it has not stored. */
export interface CallsInMemory {
  /** The oldest calls that are not stored, at most so many. */
  unsaved: (most: number) => readonly StoredCall[];
  /** All calls up to this ID are stored. */
  saved: (id: number) => void;
}

/**
 * The past of each workload, by its ID: figures of minutes and hours, and the calls of a day. Everything is counted
 * in memory and written in batches. If the database fails, only the history stops.
 */
export class History implements Disposable {
  readonly title = 'the history';
  readonly #options: HistoryOptions;
  readonly #database: DatabaseSync;
  readonly #figures: FigureStore;
  readonly #calls: CallStore;
  readonly #open = new OpenFigures();
  readonly #unsaved = new Map<WorkloadId, CallsInMemory>();
  /** Workloads that were removed while nothing could be written. */
  readonly #forgotten = new Set<WorkloadId>();
  #timer: NodeJS.Timeout | undefined;
  #figuresSavedMs = performance.now();
  #prunedMs = -Infinity;
  #namesPrunedMs = performance.now();
  #isFailing = false;
  /** The last failure was about the values, so that the same ones never can be stored. */
  #isRefusing = false;
  #isClosed = false;

  private constructor(database: DatabaseSync, options: HistoryOptions, limits: typeof onDisk) {
    this.#options = options;
    this.#database = database;
    // Not synchronous: the event loop would wait for the disk. A damaged file is set aside.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;');
    this.#figures = new FigureStore(database, limits.figures);
    this.#calls = new CallStore(database, limits.calls);
  }

  /** Opens the database. A damaged one is set aside. If none can be written, the history ends with the daemon. */
  static open(path: string, options: HistoryOptions): Promise<History> {
    return openRecoverable(path, {
      log: options.log,
      use: (database) => new History(database, options, options.limits ?? onDisk),
      useInMemory: (database) => new History(database, options, inMemory),
      inMemory: 'the history of calls is remembered only until the daemon ends',
    });
  }

  /** Counts a call of a client. */
  count(workload: WorkloadId, call: CountedCall): void {
    this.#open.call(workload, call);
    this.#saveSoon();
  }

  /** Counts decisions about connections of a server to a host. */
  countConnections(workload: WorkloadId, host: string, isDenied: boolean, times: number): void {
    this.#open.connections(workload, { atMs: this.#nowMs(), host, isDenied, times });
    this.#saveSoon();
  }

  /** Counts the bytes of a closed connection. */
  countBytes(workload: WorkloadId, host: string, bytes: number): void {
    this.#open.bytes(workload, { atMs: this.#nowMs(), host, bytes });
    this.#saveSoon();
  }

  /** Stores new calls soon. */
  keep(workload: WorkloadId, calls: CallsInMemory): void {
    this.#unsaved.set(workload, calls);
    this.#saveSoon();
  }

  /** Figures of these workloads, by ID and name. Throws `invalid`, and `unavailable` if the database fails. */
  async read(workloads: ReadonlyMap<WorkloadId, string>, request: FigureRequest): Promise<HistoryAnswer> {
    await this.#saveAll(true);
    const reading = { workloads, nowMs: this.#nowMs(), clean: this.#options.withoutSecrets };
    return readFigures(this.#figures, request, reading).catch((error: unknown) => {
      throw isOfDatabase(error) ? unavailable('the history cannot be read', { cause: error }) : error;
    });
  }

  /** Stored calls that match, the newest first. None if the database fails. */
  listCalls(workload: WorkloadId, query: CallQuery, before: number, limit: number): StoredCall[] {
    const sinceMs = Math.max(query.sinceMs ?? -Infinity, this.#oldestCallMs);
    return this.#attempt(() => this.#calls.list(workload, { ...query, sinceMs }, before, limit)) ?? [];
  }

  getCall(workload: WorkloadId, id: number): StoredCall | undefined {
    return this.#attempt(() => this.#calls.get(workload, id));
  }

  /** The ID of the latest stored call, and the time of the oldest one. */
  known(workload: WorkloadId): { lastId: number; oldestMs: number | undefined } {
    const read = () => ({
      lastId: this.#calls.lastId(workload),
      oldestMs: this.#calls.oldestMs(workload, this.#oldestCallMs),
    });
    return this.#attempt(read) ?? { lastId: 0, oldestMs: undefined };
  }

  ids(): WorkloadId[] {
    return this.#attempt(() => [...new Set([...this.#figures.ids(), ...this.#calls.ids()])]) ?? [];
  }

  /** A workload can be removed although its history cannot: nothing else has its ID, and the removal is repeated. */
  forget(workload: WorkloadId): void {
    this.#open.forget(workload);
    this.#unsaved.delete(workload);
    this.#forgotten.add(workload);
    this.#attempt(() => this.#forgetStored());
  }

  /** Removes some rows that are too old or too many. Happens every minute in which something is stored. */
  prune(): void {
    const nowMs = performance.now();
    this.#prunedMs = nowMs;
    this.#attempt(() => {
      if (this.#forgotten.size > 0) this.#forgetStored();
      this.#together(() => {
        this.#figures.prune(this.#nowMs());
        this.#calls.prune(this.#nowMs());
        if (nowMs - this.#namesPrunedMs < hourMs) return;
        this.#namesPrunedMs = nowMs;
        this.#figures.pruneNames();
      });
    });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (let left = this.#batches; left > 0 && this.#saveSome(true); left -= 1);
    this.#isClosed = true;
    this.#database.close();
  }

  /** At most how many batches wait. */
  get #batches(): number {
    return Math.ceil(this.#open.size / atOnce) + this.#unsaved.size * batchesOfWorkload + 1;
  }

  /** Returns when everything that was counted before is stored, or nothing can be. */
  async #saveAll(withFigures: boolean): Promise<void> {
    for (let left = this.#batches; left > 0 && this.#saveSome(withFigures); left -= 1) await nextTurn();
  }

  #saveSoon(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => {
      this.#save().catch(raiseFault);
    }, saveMs.calls).unref();
  }

  async #save(): Promise<void> {
    const nowMs = performance.now();
    const withFigures = nowMs - this.#figuresSavedMs >= saveMs.figures || this.#open.size > maxWaiting / 2;
    await this.#saveAll(withFigures);
    if (withFigures) this.#figuresSavedMs = nowMs;
    if (this.#isClosed) return;
    if (nowMs - this.#prunedMs >= minuteMs) this.prune();
    this.#timer = undefined;
    if (this.#open.size > 0 || this.#unsaved.size > 0) this.#saveSoon();
  }

  /** Stores some of the waiting rows, as one change. Returns whether there may be more that can be stored. */
  #saveSome(withFigures: boolean): boolean {
    const { isKnown, withoutSecrets } = this.#options;
    if (this.#isClosed) return false;
    const taken = withFigures ? this.#open.take(atOnce) : [];
    const cells = taken.filter(({ workload }) => isKnown(workload));
    const calls = this.#takeCalls();
    if (taken.length === 0 && calls.size === 0) return false;
    const saved = this.#attempt(() => {
      this.#together(() => {
        this.#figures.add(cells, (name) => printable(withoutSecrets(name)));
        for (const [workload, ofWorkload] of calls) this.#calls.add(workload, ofWorkload);
      });
      return true;
    });
    if (saved === undefined && !this.#isRefusing) {
      this.#open.putBack(cells, maxWaiting);
      return false;
    }
    for (const [workload, ofWorkload] of calls) {
      this.#unsaved.get(workload)?.saved(ofWorkload.at(-1)?.id ?? 0);
    }
    return true;
  }

  /** Calls that are not stored, of as many workloads as one batch has room for. */
  #takeCalls(): Map<WorkloadId, readonly StoredCall[]> {
    const taken = new Map<WorkloadId, readonly StoredCall[]>();
    let room = atOnce;
    for (const [workload, source] of this.#unsaved) {
      const calls = this.#options.isKnown(workload) ? source.unsaved(room) : [];
      if (calls.length === 0) this.#unsaved.delete(workload);
      else taken.set(workload, calls);
      room -= calls.length;
      if (room <= 0) break;
    }
    return taken;
  }

  #forgetStored(): void {
    this.#together(() => {
      for (const workload of this.#forgotten) {
        this.#figures.forget(workload);
        this.#calls.forget(workload);
      }
    });
    this.#forgotten.clear();
  }

  #together(work: () => void): void {
    this.#database.exec('BEGIN');
    try {
      work();
      this.#database.exec('COMMIT');
      this.#isFailing = false;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK'); // a full disk has rolled back already
      throw error;
    }
  }

  /** Reports a failure once, until a write works again: a full disk would otherwise fill the log, too. */
  #attempt<Result>(work: () => Result): Result | undefined {
    try {
      return work();
    } catch (error) {
      if (!this.#isFailing) this.#options.log.error({ err: error }, 'the history cannot be stored or read');
      this.#isFailing = true;
      this.#isRefusing = isRefusal(error);
      return undefined;
    }
  }

  get #oldestCallMs(): number {
    return this.#nowMs() - callLimits.keptMs;
  }

  #nowMs(): number {
    return this.#options.now().getTime();
  }
}

/** SQLITE_CONSTRAINT and SQLITE_MISMATCH, and mistakes in this program. */
function isRefusal(error: unknown): boolean {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined || [19, 20].includes(errcode & 0xff);
}

function isOfDatabase(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR';
}
