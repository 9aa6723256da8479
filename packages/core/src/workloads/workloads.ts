import { conflict, messageOf, unavailable } from '@toolhive/contract/failure';
import { advice, fixes, workloadNotFound } from '@toolhive/contract/fixes';
import { defaultGroup } from '@toolhive/contract/names';
import { inNaturalOrder } from '@toolhive/contract/natural-order';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import type { Progress } from '@toolhive/runtime/runtime';
import type { Adoption } from '@toolhive/state/adoption';
import { markOf } from '@toolhive/state/run-configs';
import type { RunConfigs, SetAside, StoredRunConfig } from '@toolhive/state/run-configs';
import type { Statuses } from '@toolhive/state/statuses';
import { newWorkloadId } from '@toolhive/state/workload-id';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { withLearningEnded } from '../run-config/learning.ts';
import { Supervisor } from '../supervision/supervisor.ts';
import type { Condition } from '../supervision/state.ts';
import type { SupervisorOptions } from '../supervision/supervisor.ts';
import { Removal } from './removal.ts';
import type { RemovalOptions } from './removal.ts';

export interface WorkloadsOptions
  extends Omit<SupervisorOptions, 'onChange' | 'workloads' | 'isPortTaken' | 'save'>, RemovalOptions {
  runConfigs: RunConfigs;
  /** The upgrade from a version that stored everything by name. */
  adoption: Adoption;
  /** Throws if no workload can be added to the group. */
  requireGroup: (group: string) => void;
  now: () => Date;
  /** Called after every change of a workload. */
  onChange: (supervisor: Supervisor) => void;
}

/** A run config that can start, with its grants on this machine. */
export interface Prepared {
  runConfig: RunConfig;
  mounts: readonly PinnedMount[];
}

/** A name, and possibly a port, that no other caller can take. */
export interface Reservation extends Disposable {
  /** Returns false if another workload has or reserves the port. */
  claim: (port: number) => boolean;
}

/** All workloads of the daemon, each under its own supervisor. */
export class Workloads implements AsyncDisposable {
  readonly #options: WorkloadsOptions;
  readonly #removal: Removal;
  readonly #supervisors = new Map<string, Supervisor>();
  /** Reserved names with their ports. */
  readonly #reserved = new Map<string, number | undefined>();
  /** The names in their order, until one is added. Some may be removed already. */
  #names: string[] | undefined;
  #setAside: SetAside[] = [];
  #isOver = false;

  constructor(options: WorkloadsOptions) {
    this.#options = options;
    this.#removal = new Removal(options);
  }

  /** Applies the state on disk: starts the workloads that should run, and completes interrupted removals. */
  async restore(): Promise<void> {
    const { runConfigs, statuses, log } = this.#options;
    const loaded = await runConfigs.load();
    this.#setAside = loaded.setAside;
    const workloads = await this.#withIds(loaded.runConfigs);
    for (const { id, runConfig } of workloads) {
      // A server whose time for learning ended without a daemon does not start with that access.
      const stored = { id, runConfig: withLearningEnded(runConfig, this.#options.now()) };
      const { name } = runConfig;
      const condition = await this.#conditionFrom(name, await statuses.read(name));
      const supervisor = this.#adopt(stored, condition);
      const restored =
        condition.status === 'removing'
          ? this.remove(name)
          : condition.status === 'stopping'
            ? supervisor.stop()
            : condition.status === 'stopped'
              ? undefined
              : supervisor.start();
      // One that fails tells why in its status, and keeps no other from being restored.
      await restored?.catch((error: unknown) =>
        log.error({ workload: name, err: error }, 'workload cannot be restored'),
      );
    }
    const known = [...this.#supervisors.values()].map(({ id, runConfig: { name } }) => ({ id, name }));
    await this.#removal.sweep([...known, ...this.#setAside]);
  }

  /** Every workload, in the natural order of the names. */
  all(): Supervisor[] {
    this.#names ??= [...this.#supervisors.keys()].toSorted(inNaturalOrder);
    return this.#names.flatMap((name) => this.#supervisors.get(name) ?? []);
  }

  /** The names of the workloads of a group. */
  inGroup(group: string): string[] {
    return this.all()
      .filter(({ runConfig }) => (runConfig.group ?? defaultGroup) === group)
      .map(({ runConfig }) => runConfig.name);
  }

  /** Run configs that could not be read, as long as no workload has taken their name. */
  get setAside(): SetAside[] {
    return this.#setAside.filter(({ name }) => !this.#supervisors.has(name));
  }

  find(name: string): Supervisor | undefined {
    return this.#supervisors.get(name);
  }

  /** The workload with an ID, for what arrives late: its name may belong to another workload now. */
  byId(id: WorkloadId): Supervisor | undefined {
    for (const supervisor of this.#supervisors.values()) if (supervisor.id === id) return supervisor;
    return undefined;
  }

  require(name: string): Supervisor {
    const supervisor = this.find(name);
    if (supervisor === undefined) throw workloadNotFound(name);
    return supervisor;
  }

  /**
   * Reserves a name for one caller until disposal: for a new workload, or with `supervisor` for a change of that
   * workload. A failed workload's name can be reused. All others keep their names.
   */
  reserve(name: string, supervisor?: Supervisor): Reservation {
    const present = this.#supervisors.get(name);
    if (this.#reserved.has(name)) {
      throw conflict(`workload ${name} is being created or changed by another request`, {
        hint: 'try again when that is done',
      });
    }
    if (present !== supervisor && present !== undefined && !isReplaceable(present)) {
      throw conflict(
        `workload ${name} already exists`,
        advice(`choose another name, or remove it first: thv rm ${name}`, fixes.showDetails(name)),
      );
    }
    this.#reserved.set(name, undefined);
    return {
      claim: (port) => {
        if (this.#isTaken(port, name)) return false;
        this.#reserved.set(name, port);
        return true;
      },
      [Symbol.dispose]: () => this.#reserved.delete(name),
    };
  }

  /** A port belongs to a workload whether that runs or not. */
  #isTaken(port: number, besides: string): boolean {
    const known = [...this.#supervisors].map(([name, { runConfig }]) => [name, runConfig.port] as const);
    return [...known, ...this.#reserved].some(([name, its]) => name !== besides && its === port);
  }

  /**
   * Adds a workload under a reserved name and starts it. Replaces a failed workload, of which nothing is kept. Returns
   * when the change is on disk.
   */
  async add(prepared: Prepared): Promise<void> {
    const { runConfig } = prepared;
    const { name } = runConfig;
    const present = this.#supervisors.get(name);
    const id = newWorkloadId();
    if (present !== undefined) {
      const { id: earlier, runConfig: before } = present;
      await this.change(present, prepared, id);
      return this.#removal.forgetParts(earlier, name, before);
    }
    if (this.#isOver) throw unavailable('the daemon is shutting down');
    const createdAt = this.#options.now().toISOString();
    const supervisor = this.#adopt({ id, runConfig }, { status: 'starting', createdAt });
    try {
      await this.change(supervisor, prepared);
    } catch (error) {
      if (!supervisor.isBeingRemoved) this.#supervisors.delete(name); // or the name is free once that is done
      throw error;
    }
  }

  /** Runs a workload with another run config, and with an ID also another server. Returns when that is on disk. */
  async change(supervisor: Supervisor, { runConfig, mounts }: Prepared, id?: WorkloadId): Promise<void> {
    await supervisor.change(runConfig, (changed) => this.#saveToStart(supervisor, changed, mounts, id), id);
  }

  /** Changes the run config of a workload whose server continues to run. Returns when that is on disk. */
  async amend(name: string, change: (runConfig: RunConfig) => RunConfig): Promise<void> {
    await this.require(name).amend(change, (stored) => this.#save(stored));
  }

  /** Moves a workload to another group, if it is in the first one. */
  async regroup(name: string, from: string, to: string): Promise<void> {
    await this.require(name).regroup(from, to, (stored) => this.#save(stored));
  }

  /**
   * Stops a workload and removes it completely. `report` is told why that takes long, and what the disk does not allow to remove. Nothing reads
   * that again, because no other workload has the same ID.
   */
  async remove(name: string, accepted: () => void = () => {}, report: Progress = () => {}): Promise<void> {
    const supervisor = this.#supervisors.get(name);
    if (supervisor === undefined) return this.#removeSetAside(name, accepted);
    const forget = async (): Promise<void> => {
      await this.#removal.forget(name, supervisor, report);
      this.#supervisors.delete(name);
    };
    await supervisor.remove(forget, accepted, report);
  }

  async #removeSetAside(name: string, accepted: () => void): Promise<void> {
    if (!this.#setAside.some((file) => file.name === name)) this.require(name);
    using _reserved = this.reserve(name); // so that no new workload reuses parts of the removed one
    accepted();
    const parts = this.#setAside.filter((file) => file.name === name).flatMap(({ id }) => id ?? []);
    await this.#removal.forget(name);
    for (const id of parts) await this.#removal.forgetParts(id, name);
    this.#setAside = this.#setAside.filter((file) => file.name !== name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor[Symbol.asyncDispose]()));
  }

  /** Gives an ID to run configs from earlier versions and from other programs. */
  async #withIds(loaded: Awaited<ReturnType<RunConfigs['load']>>['runConfigs']): Promise<StoredRunConfig[]> {
    const { runConfigs, adoption, log } = this.#options;
    const workloads: StoredRunConfig[] = [];
    let areSaved = true;
    for (const { id, runConfig } of loaded) {
      const stored = { id: id ?? adoption.idFor(runConfig.name), runConfig };
      workloads.push(stored);
      if (id !== undefined) continue;
      await runConfigs.save(stored).catch((error: unknown) => {
        areSaved = false;
        log.error({ workload: runConfig.name, why: messageOf(error) }, 'workload ID could not be saved');
      });
    }
    await adoption.finish({ areSaved });
    return workloads;
  }

  /** A kill between the two files must not leave a workload stopped that was about to start with this run config. */
  async #saveToStart(
    { condition: { status, createdAt } }: Supervisor,
    changed: StoredRunConfig,
    mounts: readonly PinnedMount[],
    newId?: WorkloadId,
  ): Promise<void> {
    const { name } = changed.runConfig;
    await this.#options.mounts.store(changed.id, mounts);
    if (status === 'stopped')
      await this.#options.statuses.write(name, { status, created_at: createdAt, starts: markOf(changed) });
    await this.#save(changed);
    if (newId !== undefined) await this.#removal.clearLogs(name);
  }

  /** The group may have been removed in the meantime, which is checked at the moment of the commit. */
  async #save(stored: StoredRunConfig): Promise<void> {
    this.#options.requireGroup(stored.runConfig.group ?? defaultGroup);
    await this.#options.runConfigs.save(stored);
  }

  async #conditionFrom(name: string, stored: Awaited<ReturnType<Statuses['read']>>): Promise<Condition> {
    const now = this.#options.now().toISOString();
    if (stored === undefined) return { status: 'starting', createdAt: now };
    if (stored === 'unreadable') {
      const context = 'its status file could not be read. Run thv restart to start it again';
      return { status: 'stopped', createdAt: now, context };
    }
    const { starts, created_at: createdAt, has_worked: hasWorked } = stored;
    const isStarting = starts !== undefined && (await this.#options.runConfigs.isSaved(name, starts));
    return { status: isStarting ? 'starting' : stored.status, createdAt, hasWorked };
  }

  #adopt(stored: StoredRunConfig, condition: Condition): Supervisor {
    const { name } = stored.runConfig;
    const onChange = (): void => {
      // Not one that another has replaced under the same name.
      if (this.#supervisors.get(name) === supervisor) this.#options.onChange(supervisor);
    };
    const own = {
      workloads: () => this.all().map((other) => other.runConfig),
      isPortTaken: (port: number) => this.#isTaken(port, name),
      save: this.#save.bind(this),
    };
    const supervisor = new Supervisor(stored, condition, { ...this.#options, ...own, onChange });
    this.#supervisors.set(name, supervisor);
    this.#names = undefined;
    return supervisor;
  }
}

/** A workload that failed gives its name to the next one. */
function isReplaceable({ condition, isBeingRemoved }: Supervisor): boolean {
  return condition.status === 'error' && !isBeingRemoved;
}
