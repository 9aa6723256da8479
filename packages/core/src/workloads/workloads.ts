import { conflict, notFound } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { Runtime } from '@toolhive/runtime/runtime';
import type { Logger } from 'pino';
import type { RunConfigs, SetAside } from '../state/run-configs.ts';
import type { Statuses } from '../state/statuses.ts';
import { removeServerLog } from '../state/server-log.ts';
import { Supervisor } from './supervisor.ts';
import type { Condition, SupervisorTiming } from './supervisor.ts';

export interface WorkloadsOptions {
  runConfigs: RunConfigs;
  statuses: Statuses;
  logDirectory: string;
  /** The runtime that a run config was made for; throws when this hive has none of that name. */
  runtimeFor: (runConfig: RunConfig) => Runtime;
  version: string;
  log: Logger;
  timing: SupervisorTiming;
  now: () => Date;
}

/** A name, and perhaps a port, that nobody else can take meanwhile. */
export interface Reservation extends Disposable {
  claim: (port: number) => void;
}

/** All workloads of the hive, each under its own supervisor. */
export class Workloads implements AsyncDisposable {
  readonly #options: WorkloadsOptions;
  readonly #supervisors = new Map<string, Supervisor>();
  /** Names that somebody is about to use, each with the port it gets. */
  readonly #reserved = new Map<string, number | undefined>();
  #setAside: SetAside[] = [];

  constructor(options: WorkloadsOptions) {
    this.#options = options;
  }

  /** Makes the state on disk true: runs what should run, finishes what was being removed. */
  async restore(): Promise<void> {
    const { runConfigs, statuses, log } = this.#options;
    const loaded = await runConfigs.load();
    this.#setAside = loaded.setAside;
    for (const { name, path, why } of loaded.setAside)
      log.error({ workload: name, path, why }, 'run config set aside');
    for (const runConfig of loaded.runConfigs) {
      const stored = await statuses.read(runConfig.name);
      if (stored === 'unreadable') log.error({ workload: runConfig.name }, 'status file unreadable');
      const condition = this.#conditionFrom(stored);
      if (condition.status === 'removing') {
        await this.#forget(runConfig.name);
        continue;
      }
      const supervisor = this.#adopt(runConfig, condition);
      if (supervisor !== undefined && condition.status !== 'stopped') await supervisor.start();
    }
  }

  /** Every workload, by name. */
  all(): Supervisor[] {
    return [...this.#supervisors.values()].toSorted((a, b) => (a.runConfig.name < b.runConfig.name ? -1 : 1));
  }

  /** Run configs that could not be read, as long as no workload has taken their name. */
  get setAside(): SetAside[] {
    return this.#setAside.filter(({ name }) => !this.#supervisors.has(name));
  }

  require(name: string): Supervisor {
    const supervisor = this.#supervisors.get(name);
    if (supervisor === undefined) {
      throw notFound(`workload ${name} not found`, { hint: '`thv list --all` shows every workload' });
    }
    return supervisor;
  }

  /** The ports that workloads have or are about to get, whether they run or not. */
  get ports(): ReadonlySet<number> {
    const own = [...this.#supervisors.values()].map(({ runConfig }) => runConfig.port);
    return new Set([...own, ...[...this.#reserved.values()].filter((port) => port !== undefined)]);
  }

  /**
   * Keeps a name for one caller until the reservation is disposed of. A workload that failed gives its name up;
   * any other has it for itself.
   */
  reserve(name: string): Reservation {
    const present = this.#supervisors.get(name);
    if (this.#reserved.has(name) || (present !== undefined && present.condition.status !== 'error')) {
      throw conflict(`workload ${name} already exists`, {
        hint: `choose another name, or remove it first: thv rm ${name}`,
      });
    }
    this.#reserved.set(name, undefined);
    return {
      claim: (port) => this.#reserved.set(name, port),
      [Symbol.dispose]: () => this.#reserved.delete(name),
    };
  }

  /** Adds a workload under a reserved name and starts it. What it replaces is removed first. */
  async add(runConfig: RunConfig): Promise<Supervisor> {
    const { name } = runConfig;
    if (this.#supervisors.has(name)) await this.remove(name);
    const condition: Condition = { status: 'starting', createdAt: this.#options.now().toISOString() };
    await this.#options.runConfigs.remove(name);
    await this.#options.runConfigs.save(runConfig);
    const supervisor = new Supervisor(runConfig, condition, this.#supervisorOptions(runConfig));
    this.#supervisors.set(name, supervisor);
    await supervisor.start();
    return supervisor;
  }

  /** Ends a workload and removes all of it. */
  async remove(name: string, accepted: () => void = () => {}): Promise<void> {
    const supervisor = this.#supervisors.get(name);
    if (supervisor === undefined && this.#setAside.some((file) => file.name === name)) accepted();
    else await this.require(name).remove(accepted);
    await this.#forget(name);
    if (this.#supervisors.get(name) === supervisor) this.#supervisors.delete(name);
    this.#setAside = this.#setAside.filter((file) => file.name !== name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor[Symbol.asyncDispose]()));
  }

  /** The run config goes last: as long as it is there, the next hive finishes what this one began. */
  async #forget(name: string): Promise<void> {
    await removeServerLog(this.#options.logDirectory, name);
    await this.#options.runConfigs.remove(name);
    await this.#options.statuses.remove(name);
  }

  #conditionFrom(stored: Awaited<ReturnType<Statuses['read']>>): Condition {
    const now = this.#options.now().toISOString();
    if (stored === undefined) return { status: 'starting', createdAt: now };
    if (stored === 'unreadable') {
      const context = 'its status file could not be read; `thv restart` runs it again';
      return { status: 'stopped', createdAt: now, context };
    }
    const status = stored.status === 'stopping' ? 'stopped' : stored.status;
    return { status, createdAt: stored.created_at };
  }

  #adopt(runConfig: RunConfig, condition: Condition): Supervisor | undefined {
    try {
      const supervisor = new Supervisor(runConfig, condition, this.#supervisorOptions(runConfig));
      this.#supervisors.set(runConfig.name, supervisor);
      return supervisor;
    } catch (error) {
      this.#options.log.error(
        { workload: runConfig.name, err: error },
        'workload cannot be run by this hive',
      );
      return undefined;
    }
  }

  #supervisorOptions(runConfig: RunConfig) {
    const { statuses, logDirectory, version, log, timing, runtimeFor } = this.#options;
    return { runtime: runtimeFor(runConfig), statuses, logDirectory, version, log, timing };
  }
}
