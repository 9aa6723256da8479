import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '@toolhive/contract/failure';
import type { Logger } from 'pino';
import { filesIn, writeWhole } from './files.ts';
import type { StatePaths } from './paths.ts';
import { adoptedWorkloadId, newWorkloadId } from './workload-id.ts';
import type { WorkloadId } from './workload-id.ts';

/**
 * The upgrade from a version that stored everything by workload name. Each workload adopts the state with its name,
 * once: the upgrade ends with the first start that completes it. An interrupted upgrade is repeated.
 */
export class Adoption {
  readonly #paths: StatePaths;
  readonly #log: Logger;
  readonly #isUnderway: boolean;
  #isComplete = true;

  private constructor(paths: StatePaths, log: Logger, isUnderway: boolean) {
    this.#paths = paths;
    this.#log = log;
    this.#isUnderway = isUnderway;
  }

  /** Moves files that are named after workloads. */
  static async begin(paths: StatePaths, log: Logger): Promise<Adoption> {
    const isUnderway = await access(paths.adopted).then(
      () => false,
      () => true,
    );
    const adoption = new Adoption(paths, log, isUnderway);
    if (isUnderway) for (const part of ['mounts', 'hidden', 'mountUse'] as const) await adoption.#move(part);
    return adoption;
  }

  /** The ID of a workload whose run config has none. */
  idFor(name: string): WorkloadId {
    return this.#isUnderway ? adoptedWorkloadId(name) : newWorkloadId();
  }

  /** Ends the upgrade if all run configs with new IDs are on disk. */
  async finish({ areSaved }: { areSaved: boolean }): Promise<void> {
    if (!this.#isUnderway || !this.#isComplete || !areSaved) return;
    const { adopted } = this.#paths;
    await writeWhole(adopted, '').catch((error: unknown) => this.#failed(adopted, error));
  }

  async #move(part: keyof StatePaths['byName']): Promise<void> {
    const { [part]: to, byName } = this.#paths;
    const from = byName[part];
    try {
      const files = (await filesIn(from)).filter((file) => file.endsWith('.json'));
      if (files.length > 0) await mkdir(to, { recursive: true, mode: 0o750 });
      for (const file of files)
        await rename(join(from, file), join(to, `${adoptedWorkloadId(file.slice(0, -'.json'.length))}.json`));
      await rm(from, { recursive: true, force: true });
    } catch (error) {
      this.#failed(from, error);
    }
  }

  #failed(path: string, error: unknown): void {
    this.#isComplete = false;
    this.#log.error({ path, why: messageOf(error) }, 'earlier state could not be adopted');
  }
}
