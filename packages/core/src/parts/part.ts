import type { RunConfig } from '@toolhive/contract/run-config';
import type { ProxyOptions } from '@toolhive/proxy/proxy';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { WorkloadId } from '@toolhive/state/workload-id';

/** State that is stored for each workload, by its ID. */
export interface StoredPart {
  /** Continues "cannot remove". */
  readonly title: string;
  /** The workloads that something is stored of. */
  ids(): Iterable<WorkloadId> | Promise<Iterable<WorkloadId>>;
  /** Forgets a workload. Throws if something remains. Can be repeated. The sweep knows no run config. */
  forget(id: WorkloadId, runConfig?: RunConfig): void | Promise<void>;
}

/** What a part may use while a workload runs. */
export interface PartRun {
  /** Writes a warning to the proxy's log. */
  warn: (fields: Record<string, unknown>, message: string) => void;
  /** The protocol version of the server. Undefined before it has answered. */
  serverVersion: () => string | undefined;
  /** Disposes of a resource after the run. */
  own: <Resource extends Disposable>(resource: Resource) => Resource;
}

/** What the proxy of a workload needs of a part. */
export interface ProxyPart {
  /** Rejects if the proxy must not open without it. */
  proxyOptions(
    workload: StoredRunConfig,
    run: PartRun,
  ): Partial<ProxyOptions> | Promise<Partial<ProxyOptions>>;
}

/** A part of each workload. A feature with state for each workload is one entry in the table of the parts (`wings/workloads.ts`). */
export type Part = StoredPart | ProxyPart | (StoredPart & ProxyPart);

/** The options of all parts, of which the later ones win. */
export async function proxyOptionsOf(
  parts: readonly Part[],
  workload: StoredRunConfig,
  run: PartRun,
): Promise<Partial<ProxyOptions>> {
  const options: Partial<ProxyOptions> = {};
  for (const part of parts)
    if ('proxyOptions' in part) Object.assign(options, await part.proxyOptions(workload, run));
  return options;
}

/** The parts that store something. */
export function storedParts(parts: readonly Part[]): StoredPart[] {
  return parts.filter((part) => 'forget' in part);
}
