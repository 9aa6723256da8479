import { setTimeout as delay } from 'node:timers/promises';
import { ThvError, messageOf, notFound, timedOut, unavailable } from '@toolhive/contract/failure';
import type { FailureKind } from '@toolhive/contract/failure';
import { defaultGroup } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { WorkloadStatus } from '@toolhive/contract/workload';
import { WorkloadProxy } from '@toolhive/proxy/proxy';
import type { Era, RunningServer, StartInstance } from '@toolhive/proxy/proxy';
import { describeExit } from '@toolhive/runtime/runtime';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import type { Instance, PrepareOptions, Progress, Runtime, RuntimeLimit } from '@toolhive/runtime/runtime';
import { formatSource } from '@toolhive/runtime/source';
import type { Logger } from 'pino';
import type { LogFile, Logs } from '../state/logs.ts';
import type { Statuses, StoredStatus } from '../state/statuses.ts';
import { describeRemoteAuth } from '../remote/remote-auth.ts';
import type { RemoteAuthState } from '../remote/remote-auth.ts';
import type { OpenRemote } from '../remote/open.ts';
import { remoteServer } from '../remote/remote-server.ts';
import { SignInPace } from '../remote/sign-in-pace.ts';
import { refuseUnenforced } from './enforcement.ts';
import { refuseReplaceable } from './granted-mounts.ts';
import type { GrantedMounts } from './granted-mounts.ts';
import { launchOf, mountsOfRunConfig, toolsOf } from './launch.ts';
import { mountWarnings } from './mount-warnings.ts';
import { ignoreFilesIn, refuseGlobalIgnoreFile } from './mounts.ts';

/** What a supervisor needs from the hive. */
export interface SupervisorOptions {
  /** The runtime that a run config was made for, none for a remote server; throws when there is none of that name. */
  runtimeFor: (runConfig: RunConfig) => Runtime | undefined;
  openRemote: OpenRemote;
  statuses: Statuses;
  logs: Logs;
  version: string;
  log: Logger;
  timing: SupervisorTiming;
  /** The secrets that a server is given, by the variable that receives each. Asked for at every start. */
  secretsOf: (runConfig: RunConfig) => Promise<Record<string, string>>;
  /** What installers are told when a package is made ready again. */
  installation: Pick<PrepareOptions, 'trusted' | 'allowedSources'>;
  mounts: GrantedMounts;
  /** The run configs of all workloads. */
  workloads: () => readonly RunConfig[];
  /** Patterns of what no server is to see. */
  ignoreFile: string;
  /** Told whenever the workload is not what it was. */
  onChange: () => void;
}

export interface SupervisorTiming {
  /** How long a server may take from its start to its first answer. */
  startMs: number;
  /** How long a server gets to end by itself. */
  stopMs: number;
  /** The first wait before a server is started again; it doubles from there. */
  firstBackoffMs: number;
  maxBackoffMs: number;
  /** How often a server that never worked is tried before it is left alone. */
  firstAttempts: number;
  /** After running this long a server counts as well again, and the next wait is the first one. */
  settledMs: number;
}

export const defaultTiming: SupervisorTiming = {
  startMs: 60_000,
  stopMs: 10_000,
  firstBackoffMs: 1_000,
  maxBackoffMs: 300_000,
  firstAttempts: 5,
  settledMs: 60_000,
};

/** Writes a run config to disk, or throws why it must not stand there. */
export type Save = (runConfig: RunConfig) => Promise<void>;

/** How a workload is, and since when. */
export interface Condition {
  status: WorkloadStatus;
  context?: string;
  createdAt: string;
  /** It has answered since it got its run config. */
  hasWorked?: boolean | undefined;
}

/** Nobody wants it to run. */
const unwanted: ReadonlySet<WorkloadStatus> = new Set(['stopped', 'stopping', 'removing']);

/** How long a user has to sign in to a remote server. The flow itself has a shorter limit. */
const signInMs = 60 * 60_000;

/** A server that was started or reached. */
interface Started {
  id: string;
  server: RunningServer;
  startAnother: StartInstance;
  /** Settles with the reason when it has ended by itself. */
  ended: Promise<string>;
  stop: () => Promise<void>;
  /** How long it may take to its first answer. */
  patienceMs: number;
}

/**
 * Keeps one workload as it should be: running with its proxy in front, started again when its server ends, or
 * stopped with nothing left of it. One loop does all of it, so that no two of its steps ever overlap.
 */
export class Supervisor implements AsyncDisposable {
  readonly #options: SupervisorOptions;
  readonly #log: Logger;
  readonly #watchers = new Set<Watcher>();
  #runConfig: RunConfig;
  #condition: Condition;
  #lastFailure: string | undefined;
  #running: { stop: AbortController; ended: Promise<void> } | undefined;
  /** While a wish is being written: what the loop would have recorded meanwhile, if anything. */
  #wish: { overtaken?: Condition } | undefined;
  #isOffered: boolean;
  /** Across all attempts, until somebody starts it anew. */
  #pace = new SignInPace();
  #removal: Promise<void> | undefined;
  #removed: Promise<void> | undefined;
  #limits: readonly RuntimeLimit[] = [];
  #protocol: Era | undefined;
  #proxyLog: LogFile | undefined;
  #turn: Promise<void> = Promise.resolve();
  /** Ends the server that runs, for a reason that goes on from "the server". */
  #onExcess: (reason: string) => void = () => {};

  constructor(runConfig: RunConfig, condition: Condition, options: SupervisorOptions) {
    this.#runConfig = runConfig;
    const { status, hasWorked } = condition;
    this.#condition = {
      ...condition,
      hasWorked: hasWorked === true || status === 'running' || status === 'unhealthy',
    };
    this.#options = options;
    this.#log = options.log.child({ workload: runConfig.name });
    this.#isOffered = this.#condition.hasWorked === true && !unwanted.has(status);
  }

  get runConfig(): RunConfig {
    return this.#runConfig;
  }

  get condition(): Condition {
    return this.#condition;
  }

  /** Why it ended or could not be started the last time, until it runs again or somebody has started it anew. */
  get lastFailure(): string | undefined {
    return this.#lastFailure;
  }

  /** What its runtime cannot enforce for it, known once it was started. */
  get limits(): readonly RuntimeLimit[] {
    return this.#limits;
  }

  /** How its server talks, known once it was started. */
  get protocol(): Era | undefined {
    return this.#protocol;
  }

  /** Clients may count on it: it has answered, and nobody has stopped it or given it up since. */
  get isOffered(): boolean {
    return this.#isOffered;
  }

  /** Somebody has asked for its removal, and its files may still be there. */
  get isBeingRemoved(): boolean {
    return this.#removal !== undefined;
  }

  /** Begins to run it, if it does not run yet. One that waits for its next attempt is tried at once. */
  start(): Promise<void> {
    return this.#inTurn(async () => {
      const isUnderWay = this.#condition.status === 'running' || this.#condition.status === 'starting';
      if (isUnderWay && this.#running !== undefined) return;
      await this.#startAnew();
    });
  }

  /** Ends it, if it runs, and begins to run it. Returns when the wish is on disk. */
  async restart(): Promise<void> {
    await this.#inTurn(() => this.#startAnew());
  }

  /** Runs it with another run config from now on. Returns when that is on disk; what could not be saved changes nothing. */
  async change(runConfig: RunConfig, save: Save): Promise<void> {
    await this.#inTurn(async () => {
      await this.#replace(runConfig, save);
      this.#condition = { ...this.#condition, hasWorked: false };
      this.#silence();
      await this.#become('starting');
      this.#begin();
    });
  }

  /** Puts it into another group, if it is in the first one; it goes on as it does. */
  regroup(from: string, to: string, save: Save): Promise<void> {
    return this.#inTurn(async () => {
      if ((this.#runConfig.group ?? defaultGroup) !== from) return;
      await this.#replace({ ...this.#runConfig, group: to }, save);
      this.#options.onChange();
    });
  }

  /**
   * Ends it. The wish is on disk when `accepted` is called, unless the disk takes nothing: it ends all the same, and its
   * status says so. Nothing of it is left when this returns.
   */
  stop(accepted: () => void = () => {}): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#condition.status === 'stopped') return accepted();
      this.#isOffered = false;
      this.#note('info', {}, 'workload is being stopped');
      this.#silence();
      await this.#become('stopping');
      accepted();
      await this.#end();
      const unsaved = await this.#become('stopped');
      if (unsaved !== undefined) {
        this.#report(
          `stopped, but the next start of ToolHive may run it again, as this is not saved: ${unsaved}`,
        );
      }
    });
  }

  /**
   * Ends it for good, and then does away with what is left by calling `forget`. Several removals are one; after one that
   * failed the next one tries again.
   */
  async remove(forget: () => Promise<void>, accepted: () => void = () => {}): Promise<void> {
    const removal = (this.#removal ??= this.#inTurn(async () => {
      await this.#want('removing').catch(async (error: unknown) => {
        // Removal frees space, so a full disk does not prevent it.
        if (!(error instanceof ThvError && error.kind === 'no-space')) throw error;
        await this.#become('removing');
      });
      this.#isOffered = false;
      this.#silence();
    }));
    await removal.catch((error: unknown) => {
      if (this.#removal === removal) this.#removal = undefined; // it could not be noted, so it was not accepted
      throw error;
    });
    accepted();
    const removed = (this.#removed ??= this.#end().then(forget));
    await removed.catch((error: unknown) => {
      if (this.#removed === removed) this.#removed = undefined;
      const { name } = this.#runConfig;
      this.#report(`it could not be removed: ${messageOf(error)}; \`thv rm ${name}\` tries again`);
      this.#options.onChange();
      throw error;
    });
  }

  /** Ends what runs and leaves its status as it is on disk: the next hive goes on from there. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn;
    await this.#removed?.catch(() => {}); // told to those who asked for it
    await this.#end();
  }

  /**
   * Tells `report` what is going on until the workload runs or has stopped. Throws why if it failed, and `not-found` if
   * it is removed.
   */
  async follow(report: Progress, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const settle = ({ status, context }: Condition): void => {
      if (status === 'running' || status === 'stopped') resolve();
      else if (status === 'error')
        reject(unavailable(context ?? 'it failed', { hint: this.#adviceAfterFailure() }));
      else if (status === 'removing') reject(notFound(`workload ${this.#runConfig.name} was removed`));
    };
    const watcher: Watcher = { report, settle };
    this.#watchers.add(watcher);
    const giveUp = (): void => resolve(); // whoever listened is gone; the work goes on without them
    signal?.addEventListener('abort', giveUp, { once: true });
    settle(this.#condition);
    try {
      await promise;
    } finally {
      this.#watchers.delete(watcher);
      signal?.removeEventListener('abort', giveUp);
    }
  }

  /** Starts, stops and removals happen one after the other, in the order of the calls. */
  #inTurn(change: () => Promise<void>): Promise<void> {
    if (this.#removal !== undefined)
      return Promise.reject(notFound(`workload ${this.#runConfig.name} not found`));
    const done = this.#turn.then(change);
    this.#turn = done.catch(() => {}); // the caller is told; the next one is not concerned
    return done;
  }

  /** In memory first: whoever asks for its group in the meantime must get the new one. */
  async #replace(runConfig: RunConfig, save: Save): Promise<void> {
    const before = this.#runConfig;
    this.#runConfig = runConfig;
    try {
      await save(runConfig);
    } catch (error) {
      this.#runConfig = before;
      throw error;
    }
  }

  /** Only the start of one that nobody wanted to run is a wish that must not be lost. */
  async #startAnew(): Promise<void> {
    if (unwanted.has(this.#condition.status)) {
      await this.#want('starting');
    } else {
      this.#silence();
      await this.#become('starting');
    }
    this.#begin();
  }

  /** Runs it as soon as what ran before has ended. */
  #begin(): void {
    const earlier = this.#end();
    this.#lastFailure = undefined;
    this.#pace = new SignInPace();
    const stop = new AbortController();
    const running = earlier.then(() => (stop.signal.aborted ? undefined : this.#keepRunning(stop.signal)));
    const ended = running.catch(async (error: unknown) => {
      this.#log.error({ err: error }, 'supervision failed');
      await this.#become('error', 'something went wrong inside ToolHive; the log of the hive has it');
    });
    this.#running = { stop, ended };
  }

  /** What runs begins to end, and has nothing more to say: it would take the place of the wish that is noted now. */
  #silence(): void {
    this.#running?.stop.abort();
  }

  async #end(): Promise<void> {
    this.#silence();
    const running = this.#running;
    if (running === undefined) return;
    await running.ended;
    if (this.#running === running) this.#running = undefined;
  }

  async #keepRunning(signal: AbortSignal): Promise<void> {
    await using serverLog = await this.#options.logs.open(this.#runConfig.name, 'server');
    await using proxyLog = await this.#options.logs.open(this.#runConfig.name, 'proxy');
    this.#proxyLog = proxyLog;
    let proxy: WorkloadProxy | undefined;
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          proxy ??= await this.#openProxy(serverLog);
          await this.#runOnce(proxy, serverLog, signal);
          return;
        } catch (error) {
          if (signal.aborted) return;
          const workedMs = error instanceof ServerEnded ? error.workedMs : 0;
          if (workedMs > this.#options.timing.settledMs) attempt = 1;
          const goesOn =
            isWorthRetrying(error) &&
            (this.#condition.hasWorked === true || attempt < this.#options.timing.firstAttempts);
          await this.#failed(error, goesOn ? this.#backoffMs(attempt) : undefined, signal);
          proxy?.disconnect(this.#reasonOf(error), !goesOn);
          if (!goesOn) {
            this.#offer(false);
            await untilAborted(signal);
          } else await delay(this.#backoffMs(attempt), undefined, { signal });
        }
        if (signal.aborted) return;
        await this.#become('starting', `attempt ${attempt + 1}`);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await proxy?.[Symbol.asyncDispose]();
    }
  }

  async #openProxy(serverLog: LogFile): Promise<WorkloadProxy> {
    const { name, host, port, transport, sessions } = this.#runConfig;
    return WorkloadProxy.open({
      workload: name,
      host,
      port,
      transport: transport === 'inspector' ? 'stdio' : transport,
      sessions: sessions ?? 'own',
      tools: toolsOf(this.#runConfig),
      metrics: this.#runConfig.telemetry_config?.enablePrometheusMetricsPath === true,
      version: this.#options.version,
      onExcess: (reason) => this.#onExcess(reason),
      onFault: (error) => this.#note('warn', { err: error }, 'fault in the proxy'),
      onJunk: (line) => serverLog.write(`[stdout] ${line.slice(0, 2000)}\n`),
    });
  }

  /** Runs one server until it ends by itself, which throws, or the signal ends it. */
  async #runOnce(proxy: WorkloadProxy, serverLog: LogFile, signal: AbortSignal): Promise<void> {
    const startedMs = performance.now();
    const started = await (this.#runConfig.remote_url
      ? this.#reachRemote(signal)
      : this.#startHere(serverLog, signal));
    const excess = Promise.withResolvers<string>();
    this.#onExcess = excess.resolve;
    const ended = Promise.race([started.ended, excess.promise]);
    const over = new AbortController();
    let end = 'it is being stopped';
    try {
      this.#report('waiting for its first answer');
      const deadline = AbortSignal.timeout(started.patienceMs);
      await Promise.race([
        proxy
          .connect(started.server, started.startAnother, AbortSignal.any([signal, deadline, over.signal]))
          .catch((error: unknown) => {
            if (deadline.aborted && !signal.aborted) throw this.#silent(started.patienceMs);
            throw error;
          }),
        this.#endOf(ended, startedMs),
      ]);
      signal.throwIfAborted();
      this.#condition = { ...this.#condition, hasWorked: true };
      this.#isOffered = true;
      this.#protocol = proxy.era;
      await this.#become('running');
      const ms = Math.round(performance.now() - startedMs);
      this.#note('info', { instance: started.id, ms }, 'workload runs');
      await Promise.race([this.#endOf(ended, startedMs), untilAborted(signal)]);
    } catch (error) {
      end = this.#reasonOf(error);
      throw error;
    } finally {
      over.abort();
      proxy.disconnect(end, false);
      await started.stop();
    }
  }

  async #startHere(serverLog: LogFile, signal: AbortSignal): Promise<Started> {
    const { runtimeFor, secretsOf, installation, timing } = this.#options;
    const runtime = runtimeFor(this.#runConfig);
    if (runtime === undefined) throw new Error('there is no runtime for it');
    const secrets = await secretsOf(this.#runConfig);
    const mounts = await this.#mountsFor(runtime);
    const launch = launchOf(this.#runConfig, mounts, secrets, (chunk) => serverLog.write(chunk));
    const source = await runtime.prepare(launch.source, {
      report: (message) => this.#report(message),
      signal,
      ...installation,
    });
    const limits = [...(await runtime.check(signal)).limits, ...(await mountLimits(mounts))];
    this.#limits = limits;

    this.#report(`starting ${formatSource(source)}`);
    const startAnother = (stop: AbortSignal): Promise<Instance> =>
      runtime.start({ ...launch, source }, AbortSignal.any([signal, stop]));
    const instance = await startAnother(signal);
    this.#limits = [...limits, ...(instance.limits ?? [])];
    return {
      id: instance.id,
      server: instance,
      startAnother,
      ended: instance.exited.then(describeExit),
      stop: () => instance.stop(timing.stopMs),
      patienceMs: timing.startMs,
    };
  }

  /** What it was granted of this machine, as long as that is what it was and cannot be replaced. */
  async #mountsFor(runtime: Runtime): Promise<PinnedMount[]> {
    const { mounts, workloads, ignoreFile } = this.#options;
    const { name, ignore_config: ignoreConfig } = this.#runConfig;
    const granted = await mounts.of(name, mountsOfRunConfig(this.#runConfig));
    if (runtime.mountsByPath) await refuseReplaceable(name, granted, workloads());
    await refuseGlobalIgnoreFile(granted, ignoreFile, ignoreConfig ?? {});
    return granted;
  }

  /** A server that somebody else runs never ends; it may only let nobody in any more. */
  async #reachRemote(signal: AbortSignal): Promise<Started> {
    refuseUnenforced(this.#runConfig);
    const { remote_url: url = '' } = this.#runConfig;
    let told: Promise<void> = Promise.resolve();
    const auth = await this.#options.openRemote(this.#runConfig, (state) => {
      told = told
        .then(() => (signal.aborted ? undefined : this.#signInChanged(state)))
        .catch((error: unknown) => this.#log.error({ err: error }, 'status could not be told'));
    });
    this.#report(`reaching ${url}`);
    const address = remoteServer({
      url,
      auth,
      isPatient: () => this.#condition.status === 'starting',
      onNotSignedIn: (error) => this.#note('warn', { reason: this.#reasonOf(error) }, 'sign-in failed'),
      hint: `\`thv restart ${this.#runConfig.name}\` asks again`,
      pace: this.#pace,
      signal,
    });
    return {
      id: url,
      server: { address },
      startAnother: () => Promise.reject(new Error('a remote server is not started from here')),
      ended: new Promise(() => {}),
      async stop() {
        await auth[Symbol.asyncDispose]();
        await told;
      },
      patienceMs: this.#options.timing.startMs + signInMs,
    };
  }

  async #signInChanged(state: RemoteAuthState): Promise<void> {
    const text = describeRemoteAuth(state);
    const { status } = this.#condition;
    if (status === 'starting') {
      if (text !== undefined) this.#report(text);
    } else if (state.kind === 'needs authorization' && (status === 'running' || status === 'unhealthy')) {
      await this.#become('unhealthy', text);
    } else if (status === 'unhealthy') await this.#become('running', text);
  }

  #silent(afterMs: number): ThvError {
    return timedOut(`the server did not answer initialize within ${afterMs / 1000} seconds`, {
      hint: 'check its arguments and its transport',
    });
  }

  async #endOf(ended: Promise<string>, startedMs: number): Promise<never> {
    const why = await ended;
    throw new ServerEnded(why, performance.now() - startedMs);
  }

  #backoffMs(attempt: number): number {
    const { firstBackoffMs, maxBackoffMs } = this.#options.timing;
    return Math.min(firstBackoffMs * 2 ** (attempt - 1), maxBackoffMs);
  }

  #reasonOf(error: unknown): string {
    // Its message goes on from whoever ended; all others stand by themselves, also those of mistakes in the product.
    return error instanceof ServerEnded ? `it ${error.message}` : messageOf(error);
  }

  async #failed(error: unknown, retryInMs: number | undefined, signal: AbortSignal): Promise<void> {
    const { name, image } = this.#runConfig;
    const lastWords = (await this.#options.logs.read(name, 'server', { lines: 5 })).trim();
    const what = error instanceof ServerEnded ? `the server ${error.message}` : this.#reasonOf(error);
    const said =
      error instanceof ServerEnded && lastWords !== '' ? `; it wrote: ${lastWords.slice(-1000)}` : '';
    const next = retryInMs === undefined ? '' : ` (next attempt in ${Math.round(retryInMs / 1000)} s)`;
    const bug = error instanceof ThvError || error instanceof ServerEnded ? {} : { err: error };
    this.#note('warn', { image, ...bug, reason: what, retryInMs }, 'workload failed');
    this.#lastFailure = what;
    if (!signal.aborted) await this.#become('error', `${what}${said}${next}`);
  }

  #adviceAfterFailure(): string {
    const { name } = this.#runConfig;
    return `\`thv logs ${name}\` shows what it wrote, \`thv restart ${name}\` tries again, \`thv rm ${name}\` removes it`;
  }

  /**
   * Writes down what is wanted of it. Throws, and leaves its condition as it is, when that cannot be written. Meanwhile
   * it goes on, but records nothing, as that would take the place of the wish.
   */
  async #want(status: WorkloadStatus): Promise<void> {
    const before = this.#condition;
    const wish: { overtaken?: Condition } = {};
    this.#wish = wish;
    this.#condition = { status, createdAt: before.createdAt, hasWorked: before.hasWorked };
    try {
      await this.#options.statuses.write(this.#runConfig.name, this.#stored());
      this.#tell();
    } catch (error) {
      this.#condition = wish.overtaken ?? before;
      this.#tell();
      throw error;
    } finally {
      this.#wish = undefined;
    }
  }

  /** Records what is so, and returns why that could not be saved, if it could not: it is so all the same. */
  async #become(status: WorkloadStatus, context?: string): Promise<string | undefined> {
    const { createdAt, hasWorked } = this.#condition;
    const condition = { status, createdAt, hasWorked, ...(context === undefined ? {} : { context }) };
    if (status === 'running') this.#lastFailure = undefined;
    if (this.#wish !== undefined) {
      this.#wish.overtaken = condition;
      return undefined;
    }
    this.#condition = condition;
    // On disk before anybody is told: a status that was seen is never forgotten.
    const unsaved = await this.#options.statuses.record(this.#runConfig.name, this.#stored());
    this.#tell();
    return unsaved;
  }

  #stored(): StoredStatus {
    const { status, context, createdAt, hasWorked } = this.#condition;
    return {
      status,
      ...(context === undefined ? {} : { status_context: context }),
      created_at: createdAt,
      updated_at: new Date().toISOString(),
      ...(hasWorked === true ? { has_worked: true } : {}),
    };
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher.settle(this.#condition);
    this.#options.onChange();
  }

  #offer(isOffered: boolean): void {
    if (this.#isOffered === isOffered) return;
    this.#isOffered = isOffered;
    this.#options.onChange();
  }

  /** Into the log of the hive, and into that of this workload's proxy, which others may read. */
  #note(level: 'info' | 'warn', fields: Record<string, unknown>, message: string): void {
    this.#log[level](fields, message);
    const { err, ...told } = fields;
    const line = { time: new Date().toISOString(), level, msg: message, ...told };
    this.#proxyLog?.write(`${JSON.stringify(err === undefined ? line : { ...line, err: messageOf(err) })}\n`);
  }

  #report(message: string): void {
    this.#condition = { ...this.#condition, context: message };
    for (const watcher of this.#watchers) watcher.report(message);
  }
}

interface Watcher {
  report: Progress;
  settle: (condition: Condition) => void;
}

/** What a person should know about what is really mounted, behind links and in directories that servers write to. */
async function mountLimits(mounts: readonly PinnedMount[]): Promise<RuntimeLimit[]> {
  const ignored = await ignoreFilesIn(mounts);
  const texts = [
    ...mountWarnings(mounts.map(({ pin }) => pin.path)),
    ...ignored.map((path) => `it can read all files that ${path} lists: hiding files is not available yet`),
  ];
  return texts.map((text) => ({ concerns: 'every server', text }));
}

/** A server that ended without being asked to. */
class ServerEnded extends Error {
  readonly workedMs: number;

  constructor(how: string, workedMs: number) {
    super(how);
    this.workedMs = workedMs;
  }
}

/** Nothing about these changes by itself, and nobody wants to be asked to sign in again and again. */
const hopeless: ReadonlySet<FailureKind> = new Set(['not-implemented', 'unsupported', 'unauthorized']);

/** What the product cannot do will not work the next time either. */
function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof ThvError && hopeless.has(error.kind));
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
