import { randomBytes } from 'node:crypto';
import { Backlog } from '@toolhive/contract/backlog';
import { notFound, unavailable } from '@toolhive/contract/failure';
import type { Sent } from '@toolhive/contract/operation';
import type {
  ToolUsage,
  TrafficDetails,
  TrafficEntry,
  TrafficEvent,
  TrafficRecording,
} from '@toolhive/contract/traffic';
import type { CallBodies, CallSink, EndedCall } from '@toolhive/proxy/traffic';
import type { Redaction } from '@toolhive/audit/redaction';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { matchesCall } from './call-store.ts';
import type { CallQuery, StoredCall } from './call-store.ts';
import type { CallsInMemory, History } from './history.ts';
import { RecordedBodies, bodyLimits } from './recorded-bodies.ts';
import { ToolCounts } from './tool-counts.ts';

/**
 * How many calls of one workload are kept in memory, and at most how many of one second are stored. Each takes about 0.5
 * KiB, and never more than 4 KiB.
 */
const maxKept = 1_000;
/** How many are taken beyond that before the oldest are forgotten. */
const slack = 100;
const maxWatchers = 16;
/** How many events may wait for one watcher. */
const maxWaiting = 1_000;

export interface TrafficLogOptions {
  redaction: Redaction;
  /** The ID of a session in the API. Anyone who knows the real one can use the session. */
  publicId: (session: string) => string;
  now: () => Date;
  /** Stores figures, and the calls themselves. */
  history: History;
}

interface Kept {
  id: number;
  call: EndedCall;
}

/** The calls of one workload, the latest of them in memory, and how often each of its tools was called. */
export class TrafficLog implements CallSink, CallsInMemory {
  readonly since: string;
  #calls = 0;
  #errors = 0;
  recordsBodies = false;
  readonly #redaction: Redaction;
  readonly #publicId: TrafficLogOptions['publicId'];
  /** Distinguishes the IDs of events from those of an earlier daemon. */
  readonly #run = randomBytes(6).toString('hex');
  readonly #kept: Kept[] = [];
  readonly #bodies: RecordedBodies;
  readonly #tools = new ToolCounts();
  readonly #history: History;
  readonly #workload: WorkloadId;
  readonly #watchers = new Set<Backlog<Sent<TrafficEvent>>>();
  #lastId: number;
  /** All calls up to this one are stored. */
  #savedId: number;

  constructor(workload: WorkloadId, { redaction, publicId, now, history }: TrafficLogOptions) {
    this.#redaction = redaction;
    this.#bodies = new RecordedBodies(redaction);
    this.#publicId = publicId;
    this.since = now().toISOString();
    this.#workload = workload;
    this.#history = history;
    this.#savedId = this.#lastId = history.known(workload).lastId;
  }

  /** How many requests of clients have ended, and how many of them not well. */
  get totals(): { calls: number; errors: number } {
    return { calls: this.#calls, errors: this.#errors };
  }

  get recording(): TrafficRecording {
    return { bodies: this.recordsBodies, ...bodyLimits };
  }

  record(call: EndedCall, bodies?: CallBodies): void {
    const kept = { id: ++this.#lastId, call };
    this.#kept.push(kept);
    if (this.#kept.length >= maxKept + slack) {
      for (const { id } of this.#kept.splice(0, slack)) this.#bodies.forget(id);
    }
    this.#count(call);
    this.#history.keep(this.#workload, this);
    if (bodies !== undefined && this.recordsBodies) this.#bodies.keep(kept.id, bodies);
    if (this.#watchers.size > 0) this.#tell({ type: 'entry', entry: this.#describe(kept) });
  }

  unsaved(most: number): StoredCall[] {
    const first = this.#kept.findIndex(({ id }) => id > this.#savedId);
    return first < 0 ? [] : this.#kept.slice(first, first + most).map((kept) => this.#described(kept));
  }

  saved(id: number): void {
    this.#savedId = Math.max(this.#savedId, id);
  }

  /** The time of the oldest call. */
  get oldestMs(): number | undefined {
    return this.#history.known(this.#workload).oldestMs ?? this.#kept[0]?.call.atMs;
  }

  /** The newest calls that match, the oldest of them first, and whether there are older ones. */
  list(
    filter: CallQuery,
    { before = Infinity, limit = 100 }: { before?: number | undefined; limit?: number | undefined },
  ): { entries: TrafficEntry[]; has_more: boolean } {
    const entries: TrafficEntry[] = [];
    for (let at = this.#kept.length - 1; at >= 0 && entries.length <= limit; at -= 1) {
      const kept = this.#kept[at];
      if (kept === undefined || kept.id >= before) continue;
      const entry = this.#describe(kept);
      if (matchesCall(entry, filter)) entries.push(entry);
    }
    const older = Math.min(before, this.#kept[0]?.id ?? Infinity);
    const missing = limit + 1 - entries.length;
    for (const stored of missing > 0 ? this.#history.listCalls(this.#workload, filter, older, missing) : [])
      entries.push(this.#storedEntry(stored));
    return { entries: entries.slice(0, limit).toReversed(), has_more: entries.length > limit };
  }

  /** One call. Throws `not-found` if it is no longer stored. */
  get(id: number): TrafficDetails {
    const kept = this.#kept.find((one) => one.id === id);
    const stored = kept === undefined ? this.#history.getCall(this.#workload, id) : this.#described(kept);
    if (stored === undefined) throw notFound(`call ${id} not found`, { hint: 'calls are kept for 24 hours' });
    return { entry: this.#storedEntry(stored), ...this.#bodies.of(id) };
  }

  /** Switches body recording on or off. Switching off deletes recorded bodies. */
  changeRecording(bodies: boolean): void {
    if (this.recordsBodies === bodies) return;
    this.recordsBodies = bodies;
    if (!bodies) this.#bodies.clear();
    this.#tell({ type: 'recording', bodies });
  }

  /** The calls that match from now on, or after an event, until the signal aborts. Throws `unavailable`. */
  watch(
    filter: CallQuery,
    afterId: string | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<Sent<TrafficEvent>, void, void> {
    if (this.#watchers.size >= maxWatchers) {
      throw unavailable(`${maxWatchers} callers already watch the calls of this workload`, {
        hint: 'close one of these clients',
      });
    }
    // Before anything else can happen, so that no call is missed.
    const backlog = new Backlog<Sent<TrafficEvent>>(maxWaiting);
    this.#watchers.add(backlog);
    return this.#watched(backlog, filter, this.#missed(afterId), signal);
  }

  /** The tools by the number of calls. */
  get tools(): ToolUsage[] {
    return this.#tools.list();
  }

  /** Ends the watchers of a removed workload. */
  close(): void {
    for (const watcher of this.#watchers) watcher.end();
  }

  async *#watched(
    backlog: Backlog<Sent<TrafficEvent>>,
    filter: CallQuery,
    missed: readonly Sent<TrafficEvent>[],
    signal: AbortSignal,
  ): AsyncGenerator<Sent<TrafficEvent>, void, void> {
    const end = (): void => backlog.end();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    const isMeant = ({ event }: Sent<TrafficEvent>): boolean =>
      event.type !== 'entry' || matchesCall(event.entry, filter);
    try {
      yield* missed.filter(isMeant);
      for (;;) {
        const next = await backlog.next();
        if (next === 'over') return;
        if (next === 'too slow') yield this.#sent({ type: 'reset' });
        else if (isMeant(next)) yield next;
      }
    } finally {
      this.#watchers.delete(backlog);
      signal.removeEventListener('abort', end);
    }
  }

  /** What has happened after an event. A `reset` if that is not known any more. */
  #missed(afterId: string | undefined): Sent<TrafficEvent>[] {
    if (afterId === undefined) return [];
    const [run, id = ''] = afterId.split('-');
    const after = /^\d{1,15}$/.test(id) ? Number(id) : -1;
    const first = this.#kept[0]?.id ?? this.#lastId + 1;
    if (run !== this.#run || after < first - 1 || after > this.#lastId)
      return [this.#sent({ type: 'reset' })];
    return this.#kept
      .filter((kept) => kept.id > after)
      .map((kept) => ({
        id: `${this.#run}-${kept.id}`,
        event: { type: 'entry', entry: this.#describe(kept) },
      }));
  }

  #tell(event: TrafficEvent): void {
    const sent = this.#sent(event);
    for (const watcher of this.#watchers) watcher.take(sent);
  }

  #sent(event: TrafficEvent): Sent<TrafficEvent> {
    return { id: `${this.#run}-${this.#lastId}`, event };
  }

  #describe(kept: Kept): TrafficEntry {
    return { ...this.#described(kept), has_bodies: this.#bodies.has(kept.id) };
  }

  /** A secret may have become known since the call was stored. */
  #storedEntry(call: StoredCall): TrafficEntry {
    return { ...this.#redaction.withoutSecrets(call), has_bodies: this.#bodies.has(call.id) };
  }

  #described({ id, call }: Kept): StoredCall {
    const { session, durationMs, name, reason } = call;
    const { protocolVersion: protocol_version, requestBytes, responseBytes } = call;
    return {
      id,
      at: new Date(call.atMs).toISOString(),
      source: call.source,
      direction: call.direction,
      ...(call.client === undefined ? {} : { client: this.#redaction.withoutSecrets(call.client) }),
      ...(session === undefined ? {} : { session: this.#publicId(session) }),
      ...(protocol_version === undefined ? {} : { protocol_version }),
      method: this.#redaction.withoutSecrets(call.method),
      ...(call.kind === undefined ? {} : { kind: call.kind }),
      ...(name === undefined ? {} : { name: this.#redaction.withoutSecrets(name) }),
      ...(durationMs === undefined ? {} : { duration_ms: rounded(durationMs) }),
      ...(requestBytes === undefined ? {} : { request_bytes: requestBytes }),
      ...(responseBytes === undefined ? {} : { response_bytes: responseBytes }),
      outcome: call.outcome,
      ...(reason === undefined ? {} : { reason: this.#redaction.withoutSecrets(reason) }),
      is_own_read: call.isOwnRead,
    };
  }

  #count(call: EndedCall): void {
    const { direction, durationMs, outcome, kind, name, atMs, client } = call;
    if (direction === 'to-client' || durationMs === undefined || call.isOwnRead) return;
    const isOk = outcome === 'ok';
    this.#calls += 1;
    if (!isOk) this.#errors += 1;
    const tool = kind === 'tool' ? name : undefined;
    if (tool !== undefined) this.#tools.add(tool, { atMs, durationMs, isOk });
    this.#history.count(this.#workload, {
      atMs,
      durationMs,
      isOk,
      isDenied: outcome === 'denied',
      bytes: (call.requestBytes ?? 0) + (call.responseBytes ?? 0),
      tool,
      client: client?.name,
    });
  }
}

/** Microseconds are more than anyone needs to know. */
function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
