import type { WorkloadId } from '@toolhive/state/workload-id';
import { addDuration, emptyHistogram } from './histogram.ts';
import type { Histogram } from './histogram.ts';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;

/** The subjects of figures: all calls of a workload, or those with one name. */
export const kinds = ['workload', 'tool', 'client', 'host'] as const;
export type Kind = (typeof kinds)[number];

/** How many names of one kind a workload has in one hour. Servers and clients choose them. The others are one rest. */
const maxNames = 40;
/** How much of a name is kept. */
const maxName = 128;

/** A client can claim any size of a request, and sums must stay integers of the database. */
const maxBytes = 2 ** 32;

/** The figures of one minute and one name. */
export interface Figures {
  calls: number;
  errors: number;
  denied: number;
  /** Denied connections, in the figures of a workload. */
  blocked: number;
  bytes: number;
  totalMs: number;
  durations: Histogram | undefined;
}

/** Figures of one workload that are not stored yet. */
export interface Cell {
  workload: WorkloadId;
  /** The begin of the minute, in milliseconds since 1970. */
  at: number;
  kind: Kind;
  /** Undefined for the rest. */
  name: string | undefined;
  figures: Figures;
}

/** A call that counts. */
export interface CountedCall {
  atMs: number;
  durationMs: number;
  bytes: number;
  isOk: boolean;
  isDenied: boolean;
  tool: string | undefined;
  client: string | undefined;
}

/** Stands for all names that are not admitted. */
const rest = Symbol('rest');
type Name = string | typeof rest;

interface OpenKind {
  cells: Map<Name, Cell>;
  /** The names of this hour. */
  admitted: Set<string>;
}

interface OpenWorkload {
  at: number;
  hour: number;
  kinds: Record<Kind, OpenKind>;
}

/** Counts in memory. A call costs a few additions, and the memory of a workload is bounded, whatever its names are. */
export class OpenFigures {
  readonly #workloads = new Map<WorkloadId, OpenWorkload>();
  #finished: Cell[] = [];
  #openCells = 0;

  /** How many cells wait. */
  get size(): number {
    return this.#finished.length + this.#openCells;
  }

  call(workload: WorkloadId, call: CountedCall): void {
    const open = this.#at(workload, call.atMs);
    this.#add(workload, open, 'workload', '', call);
    this.#add(workload, open, 'client', call.client ?? '', call);
    if (call.tool !== undefined) this.#add(workload, open, 'tool', call.tool, call);
  }

  connections(
    workload: WorkloadId,
    { atMs, host, isDenied, times }: { atMs: number; host: string; isDenied: boolean; times: number },
  ): void {
    const open = this.#at(workload, atMs);
    const figures = this.#figures(workload, open, 'host', host);
    if (isDenied) {
      figures.denied += times;
      this.#figures(workload, open, 'workload', '').blocked += times;
    } else figures.calls += times;
  }

  /** Adds the bytes of a connection that has ended. */
  bytes(workload: WorkloadId, { atMs, host, bytes }: { atMs: number; host: string; bytes: number }): void {
    this.#figures(workload, this.#at(workload, atMs), 'host', host).bytes += Math.min(bytes, maxBytes);
  }

  /** Removes and returns at most so many cells, those of finished minutes first. */
  take(most: number): Cell[] {
    for (const open of this.#finished.length < most ? this.#workloads.values() : []) {
      this.#finish(open);
      if (this.#finished.length >= most) break;
    }
    return this.#finished.splice(0, most);
  }

  /** Takes cells back that could not be stored. The oldest of all are dropped if there are more than this. */
  putBack(cells: readonly Cell[], most: number): void {
    this.#finished = [...cells, ...this.#finished].slice(-most);
  }

  forget(workload: WorkloadId): void {
    const open = this.#workloads.get(workload);
    if (open !== undefined) this.#finish(open);
    this.#workloads.delete(workload);
    this.#finished = this.#finished.filter((cell) => cell.workload !== workload);
  }

  /** The clock can jump in both directions: each minute is its own. */
  #at(workload: WorkloadId, atMs: number): OpenWorkload {
    const at = Math.floor(atMs / minuteMs) * minuteMs;
    const hour = Math.floor(at / hourMs);
    let open = this.#workloads.get(workload);
    if (open === undefined) {
      const empty = (): OpenKind => ({ cells: new Map(), admitted: new Set() });
      const ofKinds = { workload: empty(), tool: empty(), client: empty(), host: empty() };
      this.#workloads.set(workload, (open = { at, hour, kinds: ofKinds }));
    }
    if (open.at !== at) {
      this.#finish(open);
      open.at = at;
    }
    if (open.hour !== hour) {
      for (const kind of kinds) open.kinds[kind].admitted.clear();
      open.hour = hour;
    }
    return open;
  }

  #finish(open: OpenWorkload): void {
    for (const kind of kinds) {
      const { cells } = open.kinds[kind];
      for (const cell of cells.values()) this.#finished.push(cell);
      this.#openCells -= cells.size;
      cells.clear();
    }
  }

  #add(workload: WorkloadId, open: OpenWorkload, kind: Kind, name: string, call: CountedCall): void {
    const figures = this.#figures(workload, open, kind, name);
    figures.calls += 1;
    if (!call.isOk) figures.errors += 1;
    if (call.isDenied) figures.denied += 1;
    figures.bytes += Math.min(call.bytes, maxBytes);
    figures.totalMs += call.durationMs;
    addDuration((figures.durations ??= emptyHistogram()), call.durationMs);
  }

  #figures(workload: WorkloadId, open: OpenWorkload, kind: Kind, name: string): Figures {
    const { cells, admitted } = open.kinds[kind];
    const key = admittedName(admitted, name);
    const known = cells.get(key);
    if (known !== undefined) return known.figures;
    const figures = {
      calls: 0,
      errors: 0,
      denied: 0,
      blocked: 0,
      bytes: 0,
      totalMs: 0,
      durations: undefined,
    };
    cells.set(key, { workload, at: open.at, kind, name: key === rest ? undefined : key, figures });
    this.#openCells += 1;
    return figures;
  }
}

function admittedName(admitted: Set<string>, name: string): Name {
  // A copy: a slice would keep the whole name in memory.
  const short = name.length <= maxName ? name : Buffer.from(name.slice(0, maxName)).toString();
  if (admitted.has(short)) return short;
  if (admitted.size >= maxNames) return rest;
  admitted.add(short);
  return short;
}
