import { ThvError, cancelled, conflict, messageOf, notFound, unavailable } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import type { ProtocolGeneration } from '@toolhive/proxy/proxy';
import type { Exit, Progress, Runtime, RuntimeLimit } from '@toolhive/runtime/runtime';
import { explainSlowEnd } from '@toolhive/runtime/slow-end';
import type { Logger } from 'pino';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { Statuses } from '@toolhive/state/statuses';
import type { WorkloadId } from '@toolhive/state/workload-id';
import { describeRemoteAuth } from '@toolhive/remote/auth-status';
import type { RemoteAuthState } from '@toolhive/remote/auth-status';
import { LiveParts } from './live-parts.ts';
import type { ProgramOutput } from './program-output.ts';
import { RecordedState } from './recorded-state.ts';
import { runProgram } from './run-program.ts';
import { NotStopped, untilAborted } from './run-loop.ts';
import type { RunEvent } from './run-loop.ts';
import { describeFailure, failureFields, knownServer, runWorkload } from './run-workload.ts';
import type { RunWorkloadOptions } from './run-workload.ts';
import { isActive, isWorking, stateAfter } from './state.ts';
import type { Condition } from './state.ts';
import { WorkloadLog } from './workload-log.ts';

export interface SupervisorOptions extends RunWorkloadOptions {
  statuses: Statuses;
  log: Logger;
  save: Save;
  /** Called after every change of the workload. */
  onChange: () => void;
  /** Receives descriptions of long steps. */
  onProgress: (workload: string, message: string) => void;
  timing: SupervisorTiming;
}

export type SupervisorTiming = RunWorkloadOptions['timing'] & {
  /** How long a server may take to end before the reason is looked for, and how often that is repeated. */
  slowEndMs: number;
};

export const defaultTiming: SupervisorTiming = {
  startMs: 60_000,
  stopMs: 10_000,
  firstBackoffMs: 1_000,
  maxBackoffMs: 300_000,
  maxAwayMs: 10_000,
  firstAttempts: 5,
  settledMs: 60_000,
  slowEndMs: 2_000,
};

/** Writes a run config to disk. Throws if it must not be saved. */
export type Save = (stored: StoredRunConfig) => Promise<void>;

/** A run loop. `ended` never rejects. It settles with the reason why the server may still run, if there is one. */
interface Run {
  stop: AbortController;
  ended: Promise<string | undefined>;
  runConfig: RunConfig;
  /** Whether a program with other arguments runs in place of the server. */
  isProgram?: boolean;
}

/** A removal: `accepted` when it is on disk, `done` when the workload is completely gone. */
interface Removal {
  accepted: Promise<void>;
  done?: Promise<void>;
}

/**
 * Owns one workload: carries out start, stop, change, and removal one after the other, records their effects, and lets
 * a run loop (`run-loop.ts`) keep the server running. No two run loops of a workload ever overlap.
 */
export class Supervisor implements AsyncDisposable {
  readonly #options: SupervisorOptions;
  /** What of the workload exists in this moment. */
  readonly live = new LiveParts();
  readonly #log: WorkloadLog;
  readonly #state: RecordedState;
  readonly #operations = new SerialQueue();
  #id: WorkloadId;
  #runConfig: RunConfig;
  /** The latest run loop, which may still be ending. */
  #run: Run | undefined;
  /** The requested removal, unless it was refused. */
  #removal: Removal | undefined;
  /** The daemon ends. A request that is still being handled must not start a server that nothing would stop. */
  #isOver = false;
  /** Known from the last start on. */
  #observed: { limits: readonly RuntimeLimit[]; protocol?: ProtocolGeneration | undefined } = { limits: [] };
  /** The last known state of the authorization at the remote server. */
  #signIn: RemoteAuthState | undefined;

  constructor({ id, runConfig }: StoredRunConfig, condition: Condition, options: SupervisorOptions) {
    this.#id = id;
    this.#runConfig = runConfig;
    this.#options = options;
    this.#log = new WorkloadLog(options.log.child({ workload: runConfig.name }));
    this.#state = new RecordedState(condition, { ...options, workload: runConfig.name });
  }

  /** What stored trust belongs to. Changes only if another server takes over the name of a failed workload. */
  get id(): WorkloadId {
    return this.#id;
  }

  get runConfig(): RunConfig {
    return this.#runConfig;
  }

  get condition(): Condition {
    return this.#state.condition;
  }

  /** Why the last attempt failed, until the workload runs again or the user starts or stops it. */
  get lastFailure(): string | undefined {
    return isActive(this.#state.current) ? this.#state.current.lastFailure : undefined;
  }

  /** What the runtime cannot enforce for the workload. Known from the first start on. */
  get limits(): readonly RuntimeLimit[] {
    return this.#observed.limits;
  }

  /** How the server deviates from the protocol, in sentences, since the workload was started. */
  get deviations(): readonly string[] {
    return this.live.proxy?.deviations ?? [];
  }

  /** The protocol generation of the server. Known from the first start on. */
  get protocol(): ProtocolGeneration | undefined {
    return this.#observed.protocol;
  }

  /** The sign-in that the workload's remote server requires. Undefined if none is required. */
  get requiredSignIn(): Extract<RemoteAuthState, { kind: 'needs authorization' }> | undefined {
    const signIn = isActive(this.#state.current) ? this.#signIn : undefined;
    return signIn?.kind === 'needs authorization' ? signIn : undefined;
  }

  /** Whether clients may rely on the workload: it has answered, and was neither stopped nor given up since. */
  get isOffered(): boolean {
    return isActive(this.#state.current) && this.#state.current.isOffered;
  }

  /** Whether the removal of the workload was requested. Its files may still exist. */
  get isBeingRemoved(): boolean {
    return this.#removal !== undefined;
  }

  /**
   * Starts the workload unless it runs or is starting. A workload that waits for its next attempt starts immediately.
   */
  start(): Promise<void> {
    return this.#serially(async () => {
      const { status } = this.condition;
      if (this.#run !== undefined && (status === 'running' || status === 'starting')) return;
      await this.#startRun();
    });
  }

  /**
   * Runs the program of the server once with other arguments. Returns when that has begun, and whether the server starts
   * again afterwards: only if it was not stopped before. All other operations end the program.
   */
  async exec(
    args: readonly string[],
    output: ProgramOutput,
    signal: AbortSignal,
  ): Promise<{ ended: Promise<Exit>; starts: boolean }> {
    const { promise: ended, resolve, reject } = Promise.withResolvers<Exit>();
    let starts = false;
    await this.#serially(async () => {
      const { name } = this.#runConfig;
      if (this.#run?.isProgram === true) throw conflict(`a program of workload ${name} runs already`);
      starts = isActive(this.#state.current);
      if (starts) await this.#recordStarting();
      const run = this.#beginRun(async (stop) => {
        if (starts) this.#report('running its program with other arguments');
        const stored = { id: this.#id, runConfig: this.#runConfig };
        const both = AbortSignal.any([stop, signal]);
        try {
          resolve(await runProgram(stored, this.#options, { args, output, live: this.live, signal: both }));
        } catch (thrown) {
          reject(stop.aborted ? cancelled(`workload ${name} was stopped, started, or changed`) : thrown);
          if (thrown instanceof NotStopped) throw thrown; // no other server starts beside the program
        } finally {
          run.isProgram = false;
        }
        if (starts && !stop.aborted) await this.#keepRunning(stop);
      });
      run.isProgram = true;
    });
    return { ended, starts };
  }

  /** Stops the workload if it runs, and starts it. Returns when the intent is on disk. */
  restart(): Promise<void> {
    return this.#serially(() => this.#startRun());
  }

  /**
   * Restarts the workload with another run config. Returns when the change is on disk. If it cannot be saved, nothing
   * changes. With another ID, it is another workload with the same name.
   */
  change(runConfig: RunConfig, save: Save, id?: WorkloadId): Promise<void> {
    return this.#serially(async () => {
      await this.#replace({ id: id ?? this.#id, runConfig }, save);
      this.#state.hasWorked = false;
      await this.#recordStarting();
      this.#beginRun();
    });
  }

  /**
   * Replaces the run config while the server continues to run. For settings that running components read themselves.
   * All others take effect at the next start.
   */
  amend(change: (runConfig: RunConfig) => RunConfig, save: Save): Promise<void> {
    return this.#serially(async () => {
      await this.#replace({ id: this.#id, runConfig: change(this.#runConfig) }, save);
      this.#options.onChange();
    });
  }

  /** Moves the workload to another group if it is in the group `from`. The server continues to run. */
  regroup(from: string, to: string, save: Save): Promise<void> {
    return this.#serially(async () => {
      if ((this.#runConfig.group ?? defaultGroup) !== from) return;
      await this.#replace({ id: this.#id, runConfig: { ...this.#runConfig, group: to } }, save);
      this.#options.onChange();
    });
  }

  /**
   * Stops the workload and returns when it has stopped. Calls `accepted` when the intent is on disk. If the disk
   * cannot be written, the workload is stopped anyway, and its status says so. `report` receives the reason for a long
   * wait.
   */
  stop(accepted: () => void = () => {}, report: Progress = () => {}): Promise<void> {
    return this.#serially(async () => {
      if (this.condition.status === 'stopped') {
        accepted();
        await this.#endRun(report); // a program may run
        return;
      }
      this.#log.note('info', {}, 'workload is being stopped');
      this.#run?.stop.abort();
      await this.#state.record({ status: 'stopping' });
      accepted();
      const remains = await this.#endRun(report);
      const unsaved = await this.#state.record({ status: 'stopped', ...(remains && { context: remains }) });
      if (remains !== undefined) report(remains);
      if (unsaved === undefined) return;
      const risk = 'the next start of ToolHive may run it again, because this change is not saved';
      this.#state.report(`stopped, but ${risk}: ${unsaved}`);
    });
  }

  /**
   * Stops the workload for good, and then calls `forget` to delete its files. Calls `accepted` when the intent is on
   * disk. Simultaneous removals are one removal. After a removal that failed, the next call tries again.
   */
  async remove(
    forget: () => Promise<void>,
    accepted: () => void = () => {},
    report: Progress = () => {},
  ): Promise<void> {
    const removal = (this.#removal ??= {
      accepted: this.#serially(() => this.#commitRemoval()),
    });
    await removal.accepted.catch((error: unknown) => {
      if (this.#removal === removal) this.#removal = undefined; // not on disk, so not accepted
      throw error;
    });
    accepted();
    const done = (removal.done ??= this.#endRun(report).then(forget));
    await done.catch((error: unknown) => {
      if (removal.done === done) delete removal.done;
      const { name } = this.#runConfig;
      this.#state.report(`removal failed: ${messageOf(error)}; run thv rm ${name} to try again`);
      this.#options.onChange();
      throw error;
    });
  }

  /** Passes progress to `report` until the workload runs or is stopped. Throws the reason if it fails or is removed. */
  follow(report: Progress, signal?: AbortSignal): Promise<void> {
    return this.#state.follow(report, signal);
  }

  /** Ends the server but leaves the state on disk, so that the next daemon continues from there. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#operations.idle();
    await this.#removal?.done?.catch(() => {}); // reported to the callers of `remove`
    await this.#endRun();
  }

  /**
   * Runs operations one after the other, in the order of the calls. Refuses them once a removal was requested, and while
   * the daemon ends.
   */
  #serially(operation: () => Promise<void>): Promise<void> {
    if (this.#isOver) return Promise.reject(unavailable('the daemon is shutting down'));
    if (this.#removal !== undefined)
      return Promise.reject(notFound(`workload ${this.#runConfig.name} not found`));
    return this.#operations.run(operation);
  }

  /** In memory first, because a simultaneous lookup of the group's members must find the workload in its new group. */
  async #replace({ id, runConfig }: StoredRunConfig, save: Save): Promise<void> {
    const before = { id: this.#id, runConfig: this.#runConfig };
    this.#id = id;
    this.#runConfig = runConfig;
    try {
      await save({ id, runConfig });
    } catch (error) {
      this.#id = before.id;
      this.#runConfig = before.runConfig;
      throw error;
    }
  }

  /** Only the start of an inactive workload must be on disk, because the next daemon starts all others anyway. */
  async #startRun(): Promise<void> {
    if (isActive(this.#state.current)) await this.#recordStarting();
    else await this.#commit({ status: 'starting', isOffered: false });
    this.#beginRun();
  }

  async #recordStarting(): Promise<void> {
    this.#run?.stop.abort();
    await this.#state.record({ status: 'starting', isOffered: this.isOffered });
  }

  /** Makes an intent the state and ends the run loop, or throws and changes nothing if the disk cannot be written. */
  #commit(state: Parameters<RecordedState['commit']>[0]): Promise<void> {
    return this.#state.commit(state, () => this.#run?.stop.abort());
  }

  /** A full disk does not prevent a removal, which frees space. */
  async #commitRemoval(): Promise<void> {
    await this.#commit({ status: 'removing' }).catch(async (error: unknown) => {
      if (!(error instanceof ThvError && error.kind === 'no-space')) throw error;
      this.#run?.stop.abort();
      await this.#state.record({ status: 'removing' });
    });
  }

  /** Starts a run loop, or other work, as soon as the previous one has ended. */
  #beginRun(work = this.#keepRunning.bind(this)): Run {
    const earlier = this.#endRun();
    const stop = new AbortController();
    this.#signIn = undefined;
    const ended = earlier
      .then(() => work(stop.signal))
      .then(() => undefined)
      .catch((error: unknown) => this.#supervisionFailed(error, stop.signal));
    return (this.#run = { stop, ended, runConfig: this.#runConfig });
  }

  /** Ends the run loop. Returns the reason why the server may still run, if there is one. */
  async #endRun(report: Progress = () => {}): Promise<string | undefined> {
    const run = this.#run;
    if (run === undefined) return undefined;
    run.stop.abort();
    const remains = await explainSlowEnd(run.ended, this.#runtimeOf(run.runConfig), {
      patienceMs: this.#options.timing.slowEndMs,
      report: (reason) => {
        this.#report(reason);
        report(reason);
      },
    });
    if (this.#run === run) this.#run = undefined;
    return remains;
  }

  #runtimeOf(runConfig: RunConfig): Runtime | undefined {
    try {
      return this.#options.runtimeFor(runConfig);
    } catch {
      return undefined; // a run config may name one that this version does not have
    }
  }

  #report(message: string): void {
    this.#state.report(message);
    this.#options.onProgress(this.#runConfig.name, message);
  }

  async #keepRunning(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const stored = { id: this.#id, runConfig: this.#runConfig };
    await runWorkload(stored, this.#options, {
      hasWorked: this.#state.hasWorked,
      live: this.live,
      log: this.#log,
      // Sessions can have separate processes, which start while the workload runs.
      report: (message) => (isWorking(this.condition.status) ? undefined : this.#report(message)),
      onEvent: (event) => this.#onEvent(event, signal),
      onLimits: (limits) => (this.#observed = { ...this.#observed, limits }),
      onSignIn: (state) => this.#onSignIn(state, signal),
      onPort: (port) => this.#movePort(port, signal),
      isPatient: () => this.condition.status === 'starting',
      signal,
    });
  }

  /** Stores the port that the proxy has opened. An operation that ends the run loop does not wait for that. */
  async #movePort(port: number, signal: AbortSignal): Promise<void> {
    const moved = this.#operations.run(async () => {
      if (signal.aborted) return;
      await this.#replace({ id: this.#id, runConfig: { ...this.#runConfig, port } }, this.#options.save);
      this.#log.note('warn', { port }, 'another program uses the proxy port, so the port was changed');
      this.#options.onChange();
    });
    await Promise.race([moved, untilAborted(signal)]);
  }

  /** Makes an event of the run loop the state of the workload, unless an operation has ended the loop meanwhile. */
  async #onEvent(event: RunEvent, signal: AbortSignal): Promise<void> {
    const context = await this.#contextOf(event);
    await this.#state.committed();
    if (signal.aborted) return;
    const isRunning = event.kind === 'running';
    if (isRunning) {
      this.#state.hasWorked = true;
      this.#observed = { ...this.#observed, protocol: event.generation };
    }
    await this.#state.record(stateAfter(event, this, context));
    if (!isRunning) return;
    this.#log.note('info', { instance: event.id, ms: Math.round(event.afterMs) }, 'workload runs');
  }

  async #contextOf(event: RunEvent): Promise<string | undefined> {
    if (event.kind === 'starting') return `attempt ${event.attempt}`;
    if (event.kind === 'running') return undefined;
    const { name, image } = this.#runConfig;
    const server = knownServer(this.#runConfig, this.#options.publishedAt?.(this.#runConfig));
    const context = await describeFailure(event, this.#options.logs, name, server);
    this.#log.note('warn', { image, ...failureFields(event) }, 'workload failed');
    return context;
  }

  async #onSignIn(auth: RemoteAuthState, signal: AbortSignal): Promise<void> {
    await this.#state.committed();
    const { current } = this.#state;
    if (signal.aborted || !isActive(current)) return;
    this.#signIn = auth;
    const context = describeRemoteAuth(auth);
    const { status, isOffered } = current;
    if (status === 'starting') {
      if (context !== undefined) this.#state.report(context);
      this.#options.onChange();
    } else if (isWorking(status) && auth.kind === 'needs authorization') {
      await this.#state.record({ status: 'unhealthy', context, isOffered });
    } else if (status === 'unhealthy') await this.#state.record({ status: 'running', context, isOffered });
  }

  /** Returns the reason why a server that was to end may still run. */
  async #supervisionFailed(error: unknown, signal: AbortSignal): Promise<string | undefined> {
    this.#log.note('error', { err: error }, 'supervision failed');
    if (signal.aborted) return `the server may still run: ${messageOf(error)}`;
    const context = "internal error; see the daemon's log";
    await this.#state.record({ status: 'error', context, isOffered: this.isOffered });
    return undefined;
  }
}
