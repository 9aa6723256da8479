import { conflict, notFound } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { PrepareOptions, Runtime } from '@toolhive/runtime/runtime';
import type { Logger } from 'pino';
import { markOf } from '../state/run-configs.ts';
import type { OpenRemote } from '../remote/open.ts';
import type { RunConfigs, SetAside } from '../state/run-configs.ts';
import type { Statuses } from '../state/statuses.ts';
import type { Logs } from '../state/logs.ts';
import { Supervisor } from './supervisor.ts';
import type { Condition, SupervisorTiming } from './supervisor.ts';

export interface WorkloadsOptions {
  runConfigs: RunConfigs;
  statuses: Statuses;
  logs: Logs;
  /** The runtime that a run config was made for; throws when this hive has none of that name. */
  runtimeFor: (runConfig: RunConfig) => Runtime | undefined;
  openRemote: OpenRemote;
  /** Forgets how a workload was let in by its remote server. Never rejects. */
  forgetRemote: (name: string) => Promise<void>;
  /** Throws when a workload cannot be put into the group. */
  requireGroup: (group: string) => void;
  secretsOf: (runConfig: RunConfig) => Promise<Record<string, string>>;
  /** Whom to trust while a package is made ready again. */
  trusted: PrepareOptions['trusted'];
  /** Patterns of what no server is to see. */
  ignoreFile: string;
  version: string;
  log: Logger;
  timing: SupervisorTiming;
  now: () => Date;
  /** Told of every workload that is not what it was. */
  onChange: (supervisor: Supervisor) => void;
  /** Told of every workload that is gone. */
  onRemoved: (name: string) => void;
}

/** What a workload is to be run with, and where. */
export interface Wish {
  runConfig: RunConfig;
  runtime?: Runtime | undefined;
}

/** A name, and perhaps a port, that nobody else can take meanwhile. */
export interface Reservation extends Disposable {
  /** False when another workload has the port, or is about to get it. */
  claim: (port: number) => boolean;
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
    await this.#sweep(new Set([...loaded.runConfigs, ...loaded.setAside].map(({ name }) => name)));
    for (const runConfig of loaded.runConfigs) {
      const stored = await statuses.read(runConfig.name);
      if (stored === 'unreadable') log.error({ workload: runConfig.name }, 'status file unreadable');
      const condition = await this.#conditionFrom(runConfig.name, stored);
      if (condition.status === 'removing') {
        await this.#forget(runConfig.name, runConfig);
        continue;
      }
      const supervisor = this.#adopt(runConfig, condition);
      if (condition.status === 'stopping') await supervisor?.stop();
      else if (condition.status !== 'stopped') await supervisor?.start();
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

  require(name: string): Supervisor {
    const supervisor = this.#supervisors.get(name);
    if (supervisor === undefined) {
      throw notFound(`workload ${name} not found`, { hint: '`thv list --all` shows every workload' });
    }
    return supervisor;
  }

  /**
   * Keeps a name for one caller until the reservation is disposed of: for a new workload, or with `supervisor`
   * for a change of that one. A workload that failed gives its name up; any other has it for itself.
   */
  reserve(name: string, supervisor?: Supervisor): Reservation {
    const present = this.#supervisors.get(name);
    if (this.#reserved.has(name)) {
      throw conflict(`workload ${name} is being created or changed by somebody else`, {
        hint: 'try again when that is done',
      });
    }
    if (present !== supervisor && present !== undefined && present.condition.status !== 'error') {
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

  /** Adds a workload under a reserved name and starts it; one that failed is replaced. Returns when that is on disk. */
  async add(wish: Wish): Promise<void> {
    const { name } = wish.runConfig;
    const present = this.#supervisors.get(name);
    if (present !== undefined) return this.change(present, wish);
    const condition: Condition = { status: 'starting', createdAt: this.#options.now().toISOString() };
    const supervisor = new Supervisor(wish.runConfig, condition, this.#supervisorOptions(wish.runConfig));
    this.#supervisors.set(name, supervisor);
    try {
      await this.change(supervisor, wish);
    } catch (error) {
      if (!supervisor.isBeingRemoved) this.#supervisors.delete(name); // or the name is free once that is done
      throw error;
    }
    await this.#options.runConfigs.removeSetAside(name);
  }

  /** Runs a workload with another run config. Returns when that is on disk. */
  async change(supervisor: Supervisor, wish: Wish): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    supervisor.change(wish, (runConfig) => this.#saveToStart(supervisor, runConfig), resolve).catch(reject);
    await promise;
  }

  /** Puts a workload into another group, if it is in the first one. */
  async regroup(name: string, from: string, to: string): Promise<void> {
    await this.require(name).regroup(from, to, (runConfig) => this.#save(runConfig));
  }

  /** Ends a workload and removes all of it. */
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
    using _reserved = this.reserve(name); // so that nobody makes a new one out of what is being removed
    accepted();
    await this.#forget(name);
    this.#setAside = this.#setAside.filter((file) => file.name !== name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor[Symbol.asyncDispose]()));
  }

  /**
   * The status goes last. As long as it says `removing`, the next hive finishes what this one began; without it,
   * a run config that is still there would be run again.
   */
  async #forget(name: string, runConfig?: RunConfig): Promise<void> {
    const { logs, runConfigs, statuses, onRemoved, forgetRemote } = this.#options;
    if (runConfig?.remote_url) await forgetRemote(name);
    await logs.remove(name);
    await runConfigs.remove(name);
    await statuses.remove(name);
    onRemoved(name);
    logs.endFollowing(name); // also for those who began while the files were being removed
  }

  /** Removes what removals left that were interrupted. */
  async #sweep(known: ReadonlySet<string>): Promise<void> {
    const { statuses } = this.#options;
    for (const name of await statuses.names()) if (!known.has(name)) await statuses.remove(name);
  }

  /** A kill between the two files must not leave a workload stopped that was about to start with this run config. */
  async #saveToStart({ condition }: Supervisor, runConfig: RunConfig): Promise<void> {
    if (condition.status === 'stopped') {
      const stored = { status: condition.status, created_at: condition.createdAt };
      await this.#options.statuses.write(runConfig.name, { ...stored, starts: markOf(runConfig) });
    }
    await this.#save(runConfig);
  }

  /** Its group may have gone meanwhile; that is looked at in the moment in which it is committed. */
  async #save(runConfig: RunConfig): Promise<void> {
    this.#options.requireGroup(runConfig.group ?? defaultGroup);
    await this.#options.runConfigs.save(runConfig);
  }

  async #conditionFrom(name: string, stored: Awaited<ReturnType<Statuses['read']>>): Promise<Condition> {
    const now = this.#options.now().toISOString();
    if (stored === undefined) return { status: 'starting', createdAt: now };
    if (stored === 'unreadable') {
      const context = 'its status file could not be read; `thv restart` runs it again';
      return { status: 'stopped', createdAt: now, context };
    }
    const { starts, created_at: createdAt } = stored;
    const isStarting = starts !== undefined && (await this.#options.runConfigs.isSaved(name, starts));
    return { status: isStarting ? 'starting' : stored.status, createdAt };
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
    const { runtimeFor, ...options } = this.#options;
    const onChange = (): void => {
      const supervisor = this.#supervisors.get(runConfig.name);
      if (supervisor !== undefined) this.#options.onChange(supervisor);
    };
    return { ...options, runtime: runtimeFor(runConfig), onChange };
  }
}
