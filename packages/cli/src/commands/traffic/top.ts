import { setTimeout as delay } from 'node:timers/promises';
import { notFound } from '@toolhive/contract/failure';
import { describeResource } from '@toolhive/contract/resources';
import type { Client } from '@toolhive/contract/client';
import type { Usage } from '@toolhive/contract/traffic';
import { standardOutput } from '../../standard-streams.ts';
import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';
import { timeFrom } from '../../time-flag.ts';
import type { Page } from '../../out.ts';

/** How long the processor time is measured for a single table. */
const firstMs = 500;

/** Shows the workloads' resource use: once for programs, and continuously on a terminal. */
export async function run({ arguments: names, flags, out, client, signal }: CommandCall): Promise<void> {
  const hasTime = flags.isGiven('since') || flags.isGiven('until');
  // The begin of the time moves, if it lies a duration before now.
  const time = () => ({
    from: timeFrom(flags.text('since') ?? '24h', 'since'),
    to: timeFrom(flags.text('until'), 'until'),
  });
  time(); // refuses invalid flags
  const daemon = await client();
  const measure = async (): Promise<Usage[]> => {
    const { usage } = await daemon.listUsage({}, { signal });
    const missing = names.find((name) => !usage.some((one) => one.name === name));
    if (missing !== undefined)
      throw notFound(`workload ${missing} is not running`, { hint: 'run thv list to see running workloads' });
    return names.length === 0 ? usage : usage.filter(({ name }) => names.includes(name));
  };
  try {
    const before = await measure(); // the processor time between two measurements
    await delay(before.length === 0 ? 0 : firstMs, undefined, { signal });
    const isLive = standardOutput.isTerminal && !flags.has('once') && flags.text('format') !== 'json';
    for (;;) {
      const measured = await measure();
      const usage = hasTime ? await withHistory(daemon, measured, time(), signal) : measured;
      out.result(usage, (page) => {
        if (isLive) page.clear();
        show(page, usage);
      });
      if (!isLive) return;
      await delay(flags.milliseconds('interval'), undefined, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error; // Ctrl-C is the usual end
  }
}

/** The same workloads with the calls of a time, instead of those since the daemon started. */
async function withHistory(
  daemon: Client,
  usage: readonly Usage[],
  { from, to }: { from: string | undefined; to: string | undefined },
  signal: AbortSignal,
): Promise<Usage[]> {
  const read = (by: 'workload' | 'tool') =>
    daemon.getHistory({ query: { from, to, by, totals: 'true' } }, { signal });
  const [ofWorkloads, ofTools] = await Promise.all([read('workload'), read('tool')]);
  return usage.map((one) => {
    const found = ofWorkloads.series.find(({ workload }) => workload === one.name);
    const tools = ofTools.series
      .filter(({ workload }) => workload === one.name)
      .map(({ name = '(others)', calls, errors, p50_ms = 0, last_at }) => ({
        name,
        calls,
        errors,
        p50_ms,
        last_at,
      }));
    return {
      ...one,
      since: ofWorkloads.from,
      calls: found?.calls ?? 0,
      errors: found?.errors ?? 0,
      tools: tools.slice(0, 200),
    };
  });
}

function show(page: Page, usage: readonly Usage[]): void {
  if (usage.length === 0) return page.line('No workload runs. Run thv list --all to see the others.');
  page.table(
    ['NAME', 'CPU', 'MEMORY', 'PROCESSES', 'SESSIONS', 'CALLS', 'ERRORS', 'BUSIEST TOOL'],
    usage.map((one) => [
      one.name,
      one.cpu_percent === undefined ? '' : `${one.cpu_percent.toFixed(1)} %`,
      memoryOf(one),
      one.processes === undefined ? '' : String(one.processes),
      String(one.sessions),
      String(one.calls),
      one.errors === 0 ? '0' : page.paint('red', String(one.errors)),
      busiestOf(one),
    ]),
  );
}

function memoryOf({ memory_bytes: used, memory_limit_bytes: limit }: Usage): string {
  if (used === undefined) return '';
  const size = (bytes: number): string => describeResource('memory', bytes);
  return limit === undefined ? size(used) : `${size(used)} / ${size(limit)}`;
}

function busiestOf({ tools: [tool] }: Usage): string {
  return tool === undefined ? '' : oneLine(`${tool.name} (${tool.calls}, ${Math.round(tool.p50_ms)} ms)`, 60);
}
