import { userInfo } from 'node:os';
import type { AuditVerification, AuditWritten, NumberedAuditRecord } from '@toolhive/contract/audit';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import type { Sent } from '@toolhive/contract/operation';
import type { AuditEntry, AuditedBody } from '@toolhive/proxy/audit';
import type { Logger } from 'pino';
import type { StatePaths } from '@toolhive/state/paths';
import { AuditFile } from './audit-file.ts';
import { AuditStore } from './audit-store.ts';
import type { StoredRecord } from './audit-store.ts';
import type { AuditQuery } from './search-index.ts';
import { DenialLimit } from './denial-limit.ts';
import { Redaction } from './redaction.ts';
import { storedRecordOf } from './audit-record.ts';

/** How soon records are written, and how many at once: the event loop must not wait long for SQLite. */
const writeMs = 100;
const batch = { records: 200, bytes: 1024 * 1024 };
/** How much may wait to be written. What a flood brings beyond that is counted. */
const maxWaiting = 20_000;
const maxWaitingBytes = 32 * 1024 * 1024;
const maxWatchers = 64;
/** How many records a watcher is given at once. */
const watchedAtOnce = 200;

/** A record that is not written yet. As a text, because many waiting objects would cost the garbage collector a lot. */
interface Waiting {
  stored: StoredRecord;
  /** The file for the line, instead of the daemon's file. */
  file: string | undefined;
  bytes: number;
}

/**
 * The daemon's audit log. Recording returns immediately, and a timer writes the records in batches to SQLite and to a
 * file. Each record contains the hash of its predecessor, so that changes and removals are detectable.
 */
export class AuditLog implements AsyncDisposable {
  /** The values that are removed from all records. */
  readonly redaction = new Redaction();
  /** The operating system user, who is the actor without authentication. */
  readonly localUser = nameOfUser();
  readonly #store: AuditStore;
  readonly #paths: Pick<StatePaths, 'audit' | 'auditFile'>;
  readonly #log: Logger;
  readonly #files = new Map<string, AuditFile>();
  readonly #failing = new Set<string>();
  readonly #watchers = new Set<() => void>();
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  readonly #denials = new DenialLimit();
  #isClosed = false;

  private constructor(store: AuditStore, paths: Pick<StatePaths, 'audit' | 'auditFile'>, log: Logger) {
    this.#store = store;
    this.#paths = paths;
    this.#log = log;
  }

  static async open(
    paths: Pick<StatePaths, 'audit' | 'auditFile' | 'auditAnchor'>,
    log: Logger,
  ): Promise<AuditLog> {
    return new AuditLog(await AuditStore.open(paths, log), paths, log);
  }

  /** Takes a record. `file` is where its line goes instead of the daemon's own file. */
  record(entry: AuditEntry, file?: string): void {
    const bytes = 1_000 + sizeOf(entry.bodies?.request) + sizeOf(entry.bodies?.response);
    if (this.#waiting.length >= maxWaiting || this.#waitingBytes + bytes > maxWaitingBytes) this.#lost += 1;
    else {
      this.#waiting.push({ stored: this.#complete(entry), file, bytes });
      this.#waitingBytes += bytes;
    }
    this.#writeSoon();
  }

  /** Takes a denial of a request that anyone can repeat any number of times. Too many of them are only counted. */
  recordDenial(entry: AuditEntry): void {
    const suppressed = this.#denials.take(entry.component);
    if (suppressed === undefined) return;
    if (suppressed === 0) return this.record(entry);
    const extra = { ...entry.metadata?.extra, similar_denials_before: suppressed };
    this.record({ ...entry, metadata: { extra } });
  }

  /** The newest records that match, the oldest first. */
  async list(query: AuditQuery, limit = 100): Promise<NumberedAuditRecord[]> {
    await this.flush();
    await this.#store.prepare(query);
    if (this.#isClosed) throw unavailable('the daemon is stopping');
    return this.#store.list(query, limit);
  }

  /** Every record that matches after the one with this ID, or from now on, until the signal aborts. */
  async watch(
    query: AuditQuery,
    afterId: string | undefined,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<Sent<AuditWritten>, void, void>> {
    await this.flush(); // so that the watch begins after all earlier records
    // Checked here, because the generator starts only after the response to the client.
    if (this.#watchers.size >= maxWatchers) {
      throw unavailable(`${maxWatchers} clients already watch the audit log`, {
        hint: 'close one of these clients',
      });
    }
    const after = /^\d{1,15}$/.test(afterId ?? '') ? Number(afterId) : this.#store.lastId;
    return this.#watched(query, after, signal);
  }

  /** Follows the hash chain of the database. */
  async verify(signal: AbortSignal): Promise<AuditVerification> {
    await this.flush();
    const chain = await this.#store.verify(this.#paths.audit, signal);
    return { intact: chain.broken === undefined, chains: [chain] };
  }

  /** Returns when everything that was recorded is written. */
  async flush(): Promise<void> {
    do {
      this.#write();
      await this.#writing;
    } while (this.#waiting.length > 0 && !this.#isClosed);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.flush();
    this.#isClosed = true;
    for (const wake of this.#watchers) wake();
    for (const file of this.#files.values()) await file.close();
    await this.#store.close();
  }

  /** Reads from the database, so a slow client uses no memory. */
  async *#watched(
    query: AuditQuery,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<Sent<AuditWritten>, void, void> {
    let wake = (): void => {};
    const tell = (): void => wake();
    this.#watchers.add(tell);
    signal.addEventListener('abort', tell, { once: true });
    let last = after;
    try {
      for (;;) {
        await this.#store.prepare(query, last);
        if (signal.aborted || this.#isClosed) return;
        const seen = this.#store.lastId;
        const { records, isComplete } = this.#store.after(last, query, watchedAtOnce);
        for (const { id, record } of records) {
          yield { id: String(id), event: { type: 'record', id, record } };
          if (signal.aborted || this.#isClosed) return;
        }
        last = isComplete ? Math.max(last, seen) : (records.at(-1)?.id ?? seen);
        if (last < this.#store.lastId) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (signal.aborted || this.#isClosed) resolve();
        });
      }
    } finally {
      this.#watchers.delete(tell);
      signal.removeEventListener('abort', tell);
    }
  }

  /** A full batch is written at once, because records that wait for long cost the garbage collector more. */
  #writeSoon(): void {
    this.#timer ??= setTimeout(() => this.#write(), writeMs).unref();
    if (this.#waiting.length !== batch.records) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#write(), 0).unref();
  }

  /** Writes one batch, and the next one later. */
  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isClosed) return;
    const taken = this.#take();
    if (this.#lost > 0 && this.#waiting.length === 0) taken.push(this.#gap());
    if (taken.length === 0) return;
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#write(), 1).unref();
    const records = taken.map(({ stored }) => stored);
    const lines = this.#store.linesOf(records);
    this.#attempt(this.#paths.audit, () => this.#store.add(records, lines));
    for (const wake of this.#watchers) wake();
    const byFile = Map.groupBy(lines, (_line, index) => taken[index]?.file ?? this.#paths.auditFile);
    this.#writing = this.#writeFiles(this.#writing, byFile);
  }

  async #writeFiles(earlier: Promise<void>, byFile: ReadonlyMap<string, readonly string[]>): Promise<void> {
    await earlier;
    for (const [path, lines] of byFile) {
      try {
        await this.#fileAt(path).append(lines);
        this.#failing.delete(path);
      } catch (error) {
        this.#failed(path, error);
      }
    }
  }

  #take(): Waiting[] {
    let [count, bytes] = [0, 0];
    for (const waiting of this.#waiting) {
      if (count >= batch.records || (count > 0 && bytes + waiting.bytes > batch.bytes)) break;
      count += 1;
      bytes += waiting.bytes;
    }
    this.#waitingBytes -= bytes;
    return this.#waiting.splice(0, count);
  }

  #gap(): Waiting {
    const lost = this.#lost;
    this.#lost = 0;
    const entry: AuditEntry = {
      type: 'audit_gap',
      outcome: 'error',
      component: 'toolhive-api',
      source: { type: 'local', value: 'daemon' },
      subjects: { user: 'toolhive' },
      metadata: { extra: { lost_records: lost } },
    };
    return { stored: this.#complete(entry), file: undefined, bytes: 0 };
  }

  #attempt(place: string, write: () => void): void {
    try {
      write();
      this.#failing.delete(place);
    } catch (error) {
      this.#failed(place, error);
    }
  }

  /** Reports a failure once until writing works again, because a full disk would otherwise fill the daemon's log. */
  #failed(place: string, error: unknown): void {
    if (this.#failing.has(place)) return;
    this.#failing.add(place);
    this.#log.error({ path: place, why: messageOf(error) }, 'audit records cannot be written');
  }

  #fileAt(path: string): AuditFile {
    const known = this.#files.get(path);
    if (known !== undefined) return known;
    const file = new AuditFile(path);
    this.#files.set(path, file);
    return file;
  }

  #complete(entry: AuditEntry): StoredRecord {
    return storedRecordOf(entry, this.redaction);
  }
}

function sizeOf(body: AuditedBody | undefined): number {
  return typeof body === 'string' ? 2 * body.length : 0;
}

export function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'local'; // the user has no entry in the user database
  }
}
