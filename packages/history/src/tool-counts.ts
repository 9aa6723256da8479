import type { ToolUsage } from '@toolhive/contract/traffic';

/** How many tools are counted, and of how many of the latest calls the median is. */
const maxTools = 200;
const maxDurations = 64;

interface ToolCount {
  calls: number;
  errors: number;
  lastMs: number;
  /** Those of the latest calls, in no order. */
  durations: number[];
}

/** How often each tool of one workload was called since the daemon started. */
export class ToolCounts {
  readonly #tools = new Map<string, ToolCount>();

  add(name: string, { atMs, durationMs, isOk }: { atMs: number; durationMs: number; isOk: boolean }): void {
    const tool = this.#tools.get(name) ?? this.#newTool(name);
    tool.calls += 1;
    if (!isOk) tool.errors += 1;
    tool.lastMs = atMs;
    tool.durations[(tool.calls - 1) % maxDurations] = durationMs;
  }

  /** The tools by the number of calls. */
  list(): ToolUsage[] {
    return [...this.#tools]
      .map(([name, { calls, errors, lastMs, durations }]) => ({
        name,
        calls,
        errors,
        p50_ms: median(durations),
        last_at: new Date(lastMs).toISOString(),
      }))
      .toSorted((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1));
  }

  /** Clients can make up names, so the tool with the fewest calls makes room. */
  #newTool(name: string): ToolCount {
    if (this.#tools.size >= maxTools) {
      const [rarest] = [...this.#tools].reduce((a, b) => (b[1].calls < a[1].calls ? b : a));
      this.#tools.delete(rarest);
    }
    const tool = { calls: 0, errors: 0, lastMs: 0, durations: [] };
    this.#tools.set(name, tool);
    return tool;
  }
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) * 100) / 100;
}
