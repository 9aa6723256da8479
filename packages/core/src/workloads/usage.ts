import { formerRuntime } from '@toolhive/contract/names';
import type { Usage } from '@toolhive/contract/traffic';
import { resourcesOf } from '@toolhive/contract/resources';
import type { InstanceUsage } from '@toolhive/runtime/runtime';
import type { GovernanceWing } from '../wings/governance.ts';
import type { WorkloadsWing } from '../wings/workloads.ts';
import type { Supervisor } from '../supervision/supervisor.ts';
import { isLocal } from '../run-config/kinds.ts';

/** Younger measurements are reused, so that callers cannot keep the daemon busy. */
const freshMs = 250;

interface Measured extends InstanceUsage {
  atMs: number;
  cpuPercent: number | undefined;
}

/** The latest measurement of each workload, for the processor time since then. */
const measurements = new WeakMap<Supervisor, Promise<Measured | undefined>>();

/** A workload's resource use and call counts. Throws `not-found`. */
export function getUsage(core: GovernanceWing & WorkloadsWing, name: string): Promise<Usage> {
  return usageOf(core, core.workloads.require(name));
}

/** The same of each workload that runs. */
export function listUsage(
  core: GovernanceWing & WorkloadsWing,
  isVisible: (name: string) => boolean,
): Promise<Usage[]> {
  const running = core.workloads
    .all()
    .filter(({ runConfig, live }) => live.proxy !== undefined && isVisible(runConfig.name));
  return Promise.all(running.map((supervisor) => usageOf(core, supervisor)));
}

async function usageOf(core: GovernanceWing, supervisor: Supervisor): Promise<Usage> {
  const { id, runConfig, live } = supervisor;
  const log = core.traffic.of(id);
  const measured = await measure(supervisor);
  return {
    name: runConfig.name,
    at: new Date().toISOString(),
    ...(!isLocal(runConfig) ? {} : { runtime: runConfig.runtime ?? formerRuntime }),
    ...(measured === undefined
      ? {}
      : {
          memory_bytes: measured.memoryBytes,
          memory_limit_bytes: resourcesOf(runConfig.resources).memory,
          cpu_ms: Math.round(measured.cpuMs),
          ...(measured.cpuPercent === undefined ? {} : { cpu_percent: measured.cpuPercent }),
          processes: measured.processes,
        }),
    since: log.since,
    ...log.totals,
    sessions: live.proxy?.sessions().length ?? 0,
    tools: log.tools,
  };
}

async function measure(supervisor: Supervisor): Promise<Measured | undefined> {
  const before = await measurements.get(supervisor);
  if (before !== undefined && performance.now() - before.atMs < freshMs) return before;
  const measuring = measureNow(supervisor, before);
  measurements.set(supervisor, measuring);
  return measuring;
}

/** Undefined if nothing can be measured. */
async function measureNow({ live }: Supervisor, before: Measured | undefined): Promise<Measured | undefined> {
  // An instance may end during the measurement.
  const measured = await Promise.all(
    live.instances.map(async (instance) => instance.usage?.().catch(() => undefined)),
  );
  const known = measured.filter((usage) => usage !== undefined);
  if (known.length === 0) return undefined;
  const sum = (of: (usage: InstanceUsage) => number): number =>
    known.reduce((total, usage) => total + of(usage), 0);
  const atMs = performance.now();
  const cpuMs = sum((usage) => usage.cpuMs);
  const spentMs = before === undefined ? -1 : cpuMs - before.cpuMs;
  return {
    atMs,
    memoryBytes: sum((usage) => usage.memoryBytes),
    processes: sum((usage) => usage.processes),
    cpuMs,
    // A lower value belongs to another process.
    cpuPercent:
      before === undefined || spentMs < 0
        ? undefined
        : Math.round((spentMs / (atMs - before.atMs)) * 1000) / 10,
  };
}
