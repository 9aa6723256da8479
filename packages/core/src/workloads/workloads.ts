import { conflict, notFound, unavailable } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import { markOf } from '../state/run-configs.ts';
import type { RunConfigs, SetAside } from '../state/run-configs.ts';
import type { Statuses } from '../state/statuses.ts';
import { Supervisor } from '../supervision/supervisor.ts';
import type { Condition } from '../supervision/state.ts';
import type { SupervisorOptions } from '../supervision/supervisor.ts';

export interface WorkloadsOptions extends Omit<SupervisorOptions, 'onChange' | 'workloads'> {
  runConfigs: RunConfigs;
  /** Removes the stored sign-in of a workload at its remote server. Never rejects. */
  forgetRemote: (name: string) => Promise<void>;
  /** Deletes the files that the server of a workload has stored. */
  removeHome: (runConfig: RunConfig) => Promise<void>;
  /** Throws if no workload can be added to the group. */
  requireGroup: (group: string) => void;
  now: () => Date;
  /** Called after every change of a workload. */
  onChange: (supervisor: Supervisor) => void;
  /** Called after a workload was removed. */
  onRemoved: (name: string) => void;
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
  readonly #supervisors = new Map<string, Supervisor>();
  /** Reserved names with their ports. */
  readonly #reserved = new Map<string, number | undefined>();
  #setAside: SetAside[] = [];
  #isOver = false;

  constructor(options: WorkloadsOptions) {
    this.#options = options;
  }

  /** Applies the state on disk: starts the workloads that should run, and completes interrupted removals. */
  async restore(): Promise<void> {
    const { runConfigs, statuses, log } = this.#options;
    const loaded = await runConfigs.load();
    this.#setAside = loaded.setAside;
    await this.#sweep(new Set([...loaded.runConfigs, ...loaded.setAside].map(({ name }) => name)));
    for (const runConfig of loaded.runConfigs) {
      const { name } = runConfig;
      const condition = await this.#conditionFrom(name, await statuses.read(name));
      const supervisor = this.#adopt(runConfig, condition);
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
  }

  /** Every workload, by name. */
  all(): Supervisor[] {
    return [...this.#supervisors.values()].toSorted((a, b) => (a.runConfig.name < b.runConfig.name ? -1 : 1));
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

  require(name: string): Supervisor {
    const supervisor = this.find(name);
    if (supervisor === undefined) {
      throw notFound(`workload ${name} not found`, { hint: 'run thv list --all to see all workloads' });
    }
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
      throw conflict(`workload ${name} already exists`, {
        hint: `choose another name, or remove it first: thv rm ${name}`,
      });
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
   * Adds a workload under a reserved name and starts it. Replaces a failed workload. Returns when the change is on
   * disk.
   */
  async add(prepared: Prepared): Promise<void> {
    const { runConfig } = prepared;
    const { name } = runConfig;
    const present = this.#supervisors.get(name);
    if (present !== undefined) return this.change(present, prepared);
    if (this.#isOver) throw unavailable('the daemon is shutting down');
    const createdAt = this.#options.now().toISOString();
    const supervisor = this.#adopt(runConfig, { status: 'starting', createdAt });
    try {
      await this.change(supervisor, prepared);
    } catch (error) {
      if (!supervisor.isBeingRemoved) this.#supervisors.delete(name); // or the name is free once that is done
      throw error;
    }
  }

  /** Runs a workload with another run config. Returns when that is on disk. */
  async change(supervisor: Supervisor, { runConfig, mounts }: Prepared): Promise<void> {
    await supervisor.change(runConfig, (changed) => this.#saveToStart(supervisor, changed, mounts));
  }

  /** Changes the run config of a workload whose server continues to run. Returns when that is on disk. */
  async amend(name: string, change: (runConfig: RunConfig) => RunConfig): Promise<void> {
    await this.require(name).amend(change, (runConfig) => this.#save(runConfig));
  }

  /** Moves a workload to another group, if it is in the first one. */
  async regroup(name: string, from: string, to: string): Promise<void> {
    await this.require(name).regroup(from, to, (runConfig) => this.#save(runConfig));
  }

  /** Stops a workload and removes it completely. */
  async remove(name: string, accepted: () => void = () => {}): Promise<void> {
    const supervisor = this.#supervisors.get(name);
    if (supervisor === undefined) return this.#removeSetAside(name, accepted);
    const forget = async (): Promise<void> => {
      await this.#forget(name, supervisor.runConfig);
      this.#supervisors.delete(name);
    };
    await supervisor.remove(forget, accepted);
  }

  async #removeSetAside(name: string, accepted: () => void): Promise<void> {
    if (!this.#setAside.some((file) => file.name === name)) this.require(name);
    using _reserved = this.reserve(name); // so that no new workload reuses parts of the removed one
    accepted();
    await this.#forget(name);
    this.#setAside = this.#setAside.filter((file) => file.name !== name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor[Symbol.asyncDispose]()));
  }

  /**
   * The status is removed last. As long as it contains `removing`, the next daemon completes the removal. Without it,
   * a remaining run config would be started again.
   */
  async #forget(name: string, runConfig?: RunConfig): Promise<void> {
    const {
      logs,
      runConfigs,
      statuses,
      mounts,
      hiddenMemory,
      mountUse,
      onRemoved,
      forgetRemote,
      removeHome,
    } = this.#options;
    if (runConfig?.remote_url) await forgetRemote(name);
    else if (runConfig !== undefined) await removeHome(runConfig); // before the run config, which contains the location
    await logs.remove(name);
    await runConfigs.remove(name);
    await mounts.remove(name);
    await hiddenMemory.remove(name);
    await mountUse.remove(name);
    await statuses.remove(name);
    onRemoved(name);
    logs.endFollowing(name); // also for those who began while the files were being removed
  }

  /** Removes the leftovers of interrupted removals. */
  async #sweep(known: ReadonlySet<string>): Promise<void> {
    const { statuses, mounts, hiddenMemory, mountUse, log } = this.#options;
    for (const store of [statuses, mounts, hiddenMemory, mountUse]) {
      for (const name of await store.names()) {
        if (known.has(name)) continue;
        await store
          .remove(name)
          .catch((error: unknown) => log.warn({ workload: name, err: error }, 'state could not be removed'));
      }
    }
  }

  /** A kill between the two files must not leave a workload stopped that was about to start with this run config. */
  async #saveToStart(
    { condition }: Supervisor,
    runConfig: RunConfig,
    mounts: readonly PinnedMount[],
  ): Promise<void> {
    await this.#options.mounts.store(runConfig.name, mounts);
    if (condition.status === 'stopped') {
      const stored = { status: condition.status, created_at: condition.createdAt };
      await this.#options.statuses.write(runConfig.name, { ...stored, starts: markOf(runConfig) });
    }
    await this.#save(runConfig);
  }

  /** The group may have been removed in the meantime, which is checked at the moment of the commit. */
  async #save(runConfig: RunConfig): Promise<void> {
    this.#options.requireGroup(runConfig.group ?? defaultGroup);
    await this.#options.runConfigs.save(runConfig);
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

  #adopt(runConfig: RunConfig, condition: Condition): Supervisor {
    const onChange = (): void => {
      // Not one that another has replaced under the same name.
      if (this.#supervisors.get(runConfig.name) === supervisor) this.#options.onChange(supervisor);
    };
    const workloads = (): RunConfig[] => this.all().map((other) => other.runConfig);
    const supervisor = new Supervisor(runConfig, condition, { ...this.#options, workloads, onChange });
    this.#supervisors.set(runConfig.name, supervisor);
    return supervisor;
  }
}

/** A workload that failed gives its name to the next one. */
function isReplaceable({ condition, isBeingRemoved }: Supervisor): boolean {
  return condition.status === 'error' && !isBeingRemoved;
}
