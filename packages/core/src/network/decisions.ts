import { messageOf, unavailable } from '@toolhive/contract/failure';
import type { NetworkDecision } from '@toolhive/contract/network';
import type { Sent } from '@toolhive/contract/operation';
import type { NetworkDecisionMade } from '@toolhive/contract/network';
import type { EgressDecision, Traffic } from '@toolhive/runtime/egress';
import type { Logger } from 'pino';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { WorkloadDatabase, WorkloadRows } from '@toolhive/state/workload-database';

type Verdict = NetworkDecision['verdict'];

/** How many hosts and ports are remembered of one workload. A server can try any number of names. */
export const maxRemembered = 1_000;
const maxWatchers = 64;
/** How many decisions may wait for one watcher. Further decisions are dropped for the watcher, but stay in the list. */
const maxWaiting = 1_000;
/** How soon changes are saved. What a crash loses is how often something was decided, not a rule. */
const saveMs = 1_000;

/**
 * What the egress gateway has decided, counted by workload, host, port, and verdict. Kept in memory and saved to SQLite
 * in batches, so that a server that tries many hosts does not keep the disk busy.
 */
export class NetworkDecisions implements Disposable {
  readonly title = 'the network decisions';
  readonly #log: Logger;
  readonly #isKnown: (workload: WorkloadId) => boolean;
  readonly #stored: WorkloadRows;
  readonly #workloads = new Map<WorkloadId, Map<string, NetworkDecision>>();
  readonly #unsaved = new Set<WorkloadId>();
  readonly #watchers = new Set<Watcher>();
  #timer: NodeJS.Timeout | undefined;

  /** `earlier` is the path of the database of earlier versions. */
  constructor(
    database: WorkloadDatabase,
    earlier: string,
    { log, isKnown }: { log: Logger; isKnown: (workload: WorkloadId) => boolean },
  ) {
    this.#log = log;
    this.#isKnown = isKnown;
    this.#stored = database.rows({
      names: ['decisions'],
      schema:
        'CREATE TABLE IF NOT EXISTS decisions (workload TEXT PRIMARY KEY, decisions TEXT NOT NULL) STRICT;',
      earlier,
    });
  }

  /** Counts a decision that was made several times. Returns the decision and whether it is the first of its kind. */
  record(
    workload: WorkloadId,
    { host, port, verdict, rule, reason }: EgressDecision,
    fix: string | undefined,
    times = 1,
  ): { decision: NetworkDecision; isNew: boolean } {
    const known = this.#of(workload);
    const key = `${verdict} ${host} ${port ?? ''}`;
    const now = new Date().toISOString();
    const before = known.get(key);
    const decision: NetworkDecision = {
      host,
      ...(port === undefined ? {} : { port }),
      verdict,
      ...(rule === undefined ? {} : { rule }),
      ...(reason === undefined ? {} : { reason }),
      ...(fix === undefined ? {} : { fix }),
      count: (before?.count ?? 0) + times,
      first_at: before?.first_at ?? now,
      last_at: now,
      sent_bytes: before?.sent_bytes ?? 0,
      received_bytes: before?.received_bytes ?? 0,
    };
    known.delete(key); // the latest is the last
    known.set(key, decision);
    if (known.size > maxRemembered) known.delete(known.keys().next().value ?? '');
    this.#saveSoon(workload);
    for (const watcher of this.#watchers) watcher.take(workload, decision);
    return { decision, isNew: before === undefined };
  }

  /** Adds a connection's byte counts to the latest decision about its host and port. */
  addTraffic(workload: WorkloadId, { host, port }: EgressDecision, { sent, received }: Traffic): void {
    const decision = this.#workloads.get(workload)?.get(`allowed ${host} ${port ?? ''}`);
    if (decision === undefined) return;
    decision.sent_bytes += sent;
    decision.received_bytes += received;
    this.#saveSoon(workload);
  }

  /** The decisions about a workload, the latest first. */
  list(workload: WorkloadId, verdict?: Verdict): NetworkDecision[] {
    return [...this.#of(workload).values()]
      .filter((decision) => verdict === undefined || decision.verdict === verdict)
      .toReversed();
  }

  /** The decisions about a workload from now on, until the signal aborts. */
  watch(
    workload: WorkloadId,
    verdict: Verdict | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Sent<NetworkDecisionMade>, void, void> {
    if (this.#watchers.size >= maxWatchers) {
      throw unavailable(`${maxWatchers} callers already watch network decisions`, {
        hint: 'close one of these clients',
      });
    }
    const watcher = new Watcher(workload, verdict);
    this.#watchers.add(watcher);
    return this.#watched(watcher, signal);
  }

  /** The workloads that decisions are stored of. */
  ids(): WorkloadId[] {
    return this.#stored.ids();
  }

  forget(workload: WorkloadId): void {
    this.#workloads.delete(workload);
    this.#unsaved.delete(workload);
    this.#stored.forget(workload);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#save();
    for (const watcher of this.#watchers) watcher.end();
  }

  async *#watched(
    watcher: Watcher,
    signal: AbortSignal,
  ): AsyncGenerator<Sent<NetworkDecisionMade>, void, void> {
    const end = (): void => watcher.end();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    let id = 0;
    try {
      for (let next = await watcher.next(); next !== undefined; next = await watcher.next()) {
        id += 1;
        yield { id: String(id), event: { type: 'decision', decision: next } };
      }
    } finally {
      this.#watchers.delete(watcher);
      signal.removeEventListener('abort', end);
    }
  }

  #of(workload: WorkloadId): Map<string, NetworkDecision> {
    const known = this.#workloads.get(workload);
    if (known !== undefined) return known;
    const read = new Map(
      this.#read(workload).map((decision) => [
        `${decision.verdict} ${decision.host} ${decision.port ?? ''}`,
        decision,
      ]),
    );
    this.#workloads.set(workload, read);
    return read;
  }

  #read(workload: WorkloadId): NetworkDecision[] {
    try {
      const row = this.#stored.prepare('SELECT decisions FROM decisions WHERE workload = ?').get(workload);
      return row === undefined ? [] : (JSON.parse(String(row['decisions'])) as NetworkDecision[]); // see `#save`
    } catch (error) {
      this.#log.error({ workload, why: messageOf(error) }, 'network decisions could not be read');
      return [];
    }
  }

  #saveSoon(workload: WorkloadId): void {
    this.#unsaved.add(workload);
    this.#timer ??= setTimeout(() => this.#save(), saveMs).unref();
  }

  #save(): void {
    this.#timer = undefined;
    const unsaved = [...this.#unsaved];
    this.#unsaved.clear();
    try {
      const insert = this.#stored.prepare('INSERT OR REPLACE INTO decisions VALUES (?, ?)');
      for (const workload of unsaved) {
        if (this.#isKnown(workload)) insert.run(workload, JSON.stringify([...this.#of(workload).values()]));
        else this.#workloads.delete(workload); // its last connections ended after it was removed
      }
    } catch (error) {
      this.#log.error({ why: messageOf(error) }, 'network decisions could not be saved');
    }
  }
}

/** A caller that watches the decisions about one workload. */
class Watcher {
  readonly #workload: WorkloadId;
  readonly #verdict: Verdict | undefined;
  readonly #waiting: NetworkDecision[] = [];
  #isOver = false;
  #wake = (): void => {};

  constructor(workload: WorkloadId, verdict: Verdict | undefined) {
    this.#workload = workload;
    this.#verdict = verdict;
  }

  take(workload: WorkloadId, decision: NetworkDecision): void {
    if (workload !== this.#workload || this.#waiting.length >= maxWaiting) return;
    if (this.#verdict !== undefined && decision.verdict !== this.#verdict) return;
    this.#waiting.push({ ...decision });
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async next(): Promise<NetworkDecision | undefined> {
    for (;;) {
      if (this.#isOver) return undefined;
      const decision = this.#waiting.shift();
      if (decision !== undefined) return decision;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
