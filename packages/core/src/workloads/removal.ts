import { messageOf } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Progress } from '@toolhive/runtime/runtime';
import type { Logs } from '@toolhive/state/logs';
import type { RunConfigs, StoredRunConfig } from '@toolhive/state/run-configs';
import type { Statuses } from '@toolhive/state/statuses';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { Logger } from 'pino';
import { storedParts } from '../parts/part.ts';
import type { Part } from '../parts/part.ts';
import { isLocal } from '../run-config/kinds.ts';

export interface RemovalOptions {
  logs: Logs;
  runConfigs: RunConfigs;
  statuses: Statuses;
  parts: readonly Part[];
  /** Deletes the files that the server of a workload has stored. */
  removeHome: (runConfig: RunConfig) => Promise<void>;
  /** Called after a workload was removed. */
  onRemoved: (name: string) => void;
  log: Logger;
}

/** Removes everything of workloads from the disk, in an order that survives an interruption at any point. */
export class Removal {
  readonly #options: RemovalOptions;

  constructor(options: RemovalOptions) {
    this.#options = options;
  }

  /**
   * The status is removed last. As long as it contains `removing`, the next daemon completes the removal. Without it,
   * a remaining run config would be started again.
   */
  async forget(name: string, stored?: StoredRunConfig, report?: Progress): Promise<void> {
    const { logs, runConfigs, statuses, onRemoved, removeHome } = this.#options;
    // Before the run config, which contains the location.
    if (stored !== undefined && isLocal(stored.runConfig)) await removeHome(stored.runConfig);
    await logs.remove(name);
    await runConfigs.remove(name);
    if (stored !== undefined) await this.forgetParts(stored.id, name, stored.runConfig, report);
    await statuses.remove(name);
    onRemoved(name);
    logs.endFollowing(name); // also for those who began while the files were being removed
  }

  /** Another server has the name now, and the earlier one's lines must not explain its failures. It starts in any case. */
  async clearLogs(name: string): Promise<void> {
    const { logs, log } = this.#options;
    await logs
      .clear(name)
      .catch((error: unknown) => log.warn({ workload: name, err: error }, 'logs could not be removed'));
  }

  /** Continues after a part that cannot be removed. The next start tries again. */
  async forgetParts(
    id: WorkloadId,
    name: string,
    runConfig?: RunConfig,
    report: Progress = () => {},
  ): Promise<void> {
    for (const part of storedParts(this.#options.parts)) {
      const { title } = part;
      try {
        await part.forget(id, runConfig);
      } catch (error) {
        const why = messageOf(error);
        this.#options.log.error({ workload: name, id, part: title, why }, 'state could not be removed');
        report(
          `WARNING: cannot remove ${title} of ${name}: ${why}. No other workload can use them, and the next start of ToolHive tries again`,
        );
      }
    }
  }

  /** Removes everything that belongs to no known workload: the leftovers of interrupted and incomplete removals. */
  async sweep(known: readonly { name: string; id?: WorkloadId | undefined }[]): Promise<void> {
    const { statuses, parts, log } = this.#options;
    const names = new Set(known.map(({ name }) => name));
    for (const name of await statuses.names()) {
      if (names.has(name)) continue;
      await statuses
        .remove(name)
        .catch((error: unknown) => log.warn({ workload: name, err: error }, 'status could not be removed'));
    }
    const ids = new Set(known.map(({ id }) => id));
    for (const part of storedParts(parts)) {
      try {
        for (const id of await part.ids()) if (!ids.has(id)) await part.forget(id);
      } catch (error) {
        log.warn({ part: part.title, why: messageOf(error) }, 'state could not be swept');
      }
    }
  }
}
