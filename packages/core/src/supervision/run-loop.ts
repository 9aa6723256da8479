import { setTimeout as delay } from 'node:timers/promises';
import { ThvError, messageOf, timedOut } from '@toolhive/contract/failure';
import type { FailureKind } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { ProtocolGeneration, RunningServer, StartInstance, WorkloadProxy } from '@toolhive/proxy/proxy';
import type { Progress } from '@toolhive/runtime/runtime';

/** When a server that failed is started again. */
export interface RunTiming {
  /** The wait before the second attempt. The wait doubles with each further attempt. */
  firstBackoffMs: number;
  maxBackoffMs: number;
  /** The longest wait while the runtime itself is not available. */
  maxAwayMs: number;
  /** How many attempts a server that has never worked gets. */
  firstAttempts: number;
  /** After running this long, a server gets the first backoff again. */
  settledMs: number;
}

/** A started server, or a reached remote server. */
export interface StartedServer {
  /** The process, the container, or the URL, for logs. */
  id: string;
  server: RunningServer;
  startAnother: StartInstance;
  /** Settles when the server has ended by itself, with the reason as a phrase that continues "the server". */
  ended: Promise<string>;
  stop: () => Promise<void>;
  /** How long the server may take to its first answer. */
  firstAnswerMs: number;
}

/** The client endpoint, as far as the run loop uses it. */
type RunProxy = Pick<WorkloadProxy, 'connect' | 'checkSession' | 'disconnect' | 'generation'> &
  AsyncDisposable;

export interface RunOptions {
  timing: RunTiming;
  /** Whether the server has worked before, so that restarts have no limit. */
  hasWorked: boolean;
  /**
   * Opens the port for clients, which stays open while servers start and end behind it. `onExcess` stops the current
   * server for a reason that continues "the server".
   */
  openProxy: (onExcess: (reason: string) => void) => Promise<RunProxy>;
  startServer: (report: Progress, signal: AbortSignal) => Promise<StartedServer>;
  /** Receives a short description of a long step. */
  report: Progress;
  /** Receives each event. The loop continues when the returned promise settles, so that events can be recorded first. */
  onEvent: (event: RunEvent) => Promise<void>;
  /** Ends the server and the loop. */
  signal: AbortSignal;
}

/** A retry begins, the server has answered, or the server could not be started or has ended. */
export type RunEvent =
  | { kind: 'starting'; attempt: number }
  | { kind: 'running'; id: string; generation: ProtocolGeneration | undefined; afterMs: number }
  | { kind: 'failed'; failure: RunFailure; retryInMs: number | undefined };

interface RunFailure {
  /** A phrase such as `the server exited with code 1`, or a whole message. */
  reason: string;
  /** Whether the server was started and ended without being asked to. */
  hasEnded: boolean;
  error: unknown;
}

/**
 * Keeps one server running behind its proxy until the signal aborts: starts it, waits for its first answer, and
 * restarts it with growing delays. After too many failed attempts, gives up (`retryInMs` is undefined) and only keeps
 * the port open, where clients receive the reason. Returns when the server is completely gone. Rejects only if the server
 * cannot be stopped, or if `onEvent` or the end of the proxy fails.
 */
export async function runServer(options: RunOptions): Promise<void> {
  const { timing, openProxy, onEvent, signal } = options;
  let hasWorked = options.hasWorked;
  let excess = Promise.withResolvers<string>();
  let proxy: RunProxy | undefined;
  let isRepeated = false;
  let lateStarts = 0;
  let away = 0;
  try {
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      if (attempt > 1 || away > 0) await onEvent({ kind: 'starting', attempt });
      excess = Promise.withResolvers<string>();
      const known = proxy?.generation;
      let hasAnswered = false;
      try {
        proxy ??= await openProxy((reason) => excess.resolve(reason));
        await runOnce(proxy, excess.promise, options, {
          // A server that compiles or loads a model would otherwise begin anew each time, and never get ready.
          patience: Math.min(2 ** lateStarts, maxPatience),
          onLate: () => (lateStarts += 1),
          onWorking: () => (hasAnswered = hasWorked = true),
        });
      } catch (error) {
        if (signal.aborted) {
          if (error instanceof NotStopped) throw error; // which nothing else would tell
          return;
        }
        const isLearned = known === undefined && proxy?.generation !== undefined;
        if (isLearned && error instanceof ServerEnded && !hasAnswered && !isRepeated) {
          // The server has ended at its first message, which is another one the next time.
          options.report('the server ended at its first message, so it starts once more with another one');
          isRepeated = true;
          attempt -= 1;
          continue;
        }
        if (error instanceof RuntimeAway) {
          // The server has not failed. A container engine may start later than the daemon.
          attempt -= 1;
          away += 1;
          const retryInMs = Math.min(backoffMs(away, timing), timing.maxAwayMs);
          await onEvent({ kind: 'failed', failure: failureOf(error), retryInMs });
          proxy?.disconnect(disconnectReasonOf(error), false);
          await pause(retryInMs, signal);
          continue;
        }
        away = 0;
        if (error instanceof ServerEnded && error.workedMs > timing.settledMs) attempt = 1;
        const retries = isWorthRetrying(error) && (hasWorked || attempt < timing.firstAttempts);
        const retryInMs = retries ? backoffMs(attempt, timing) : undefined;
        await onEvent({ kind: 'failed', failure: failureOf(error), retryInMs });
        const isFar = retryInMs === undefined || retryInMs > clientWaitMs;
        proxy?.disconnect(`${disconnectReasonOf(error)}${nextAttempt(retryInMs)}`, isFar);
        await (retryInMs === undefined ? untilAborted(signal) : pause(retryInMs, signal));
      }
    }
  } finally {
    await proxy?.[Symbol.asyncDispose]();
  }
}

/** If the next attempt is further away, clients get the reason at once instead of waiting in vain. */
const clientWaitMs = 15_000;

/** How many times longer than the first start a later one may take. */
const maxPatience = 4;

interface Attempt {
  /** How many times longer than usual the first answer may take. */
  patience: number;
  /** Called if the server has not answered in time. */
  onLate: () => void;
  onWorking: () => void;
}

/**
 * Runs one server. Throws if the server could not be started or has ended by itself, and returns when the signal has
 * ended it.
 */
async function runOnce(
  proxy: RunProxy,
  excess: Promise<string>,
  { startServer, report, onEvent, signal }: RunOptions,
  { patience, onLate, onWorking }: Attempt,
): Promise<void> {
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  const started = await startServer(report, signal);
  const ended = Promise.race([started.ended, excess]).then((how): never => {
    throw new ServerEnded(how, elapsedMs());
  });
  const over = new AbortController();
  let reason = 'the workload is being stopped';
  let connected: Promise<void> | undefined;
  try {
    report('waiting for its first response');
    const answerMs = patience * started.firstAnswerMs;
    connected = connect(proxy, started, { answerMs, onLate, signal: AbortSignal.any([signal, over.signal]) });
    await Promise.race([connected, ended]);
    signal.throwIfAborted();
    const checked = proxy.checkSession(AbortSignal.any([signal, over.signal]));
    const refusal = await Promise.race([checked, ended]);
    signal.throwIfAborted();
    if (refusal !== undefined) report(printable(refusal).slice(0, 500));
    onWorking();
    await onEvent({ kind: 'running', id: started.id, generation: proxy.generation, afterMs: elapsedMs() });
    await Promise.race([ended, untilAborted(signal)]);
  } catch (error) {
    reason = disconnectReasonOf(error);
    throw error;
  } finally {
    over.abort();
    proxy.disconnect(reason, false);
    await connected?.catch(() => {}); // thrown above. From now on, the proxy knows the generation of the server
    await started.stop().catch((cause: unknown) => {
      throw signal.aborted ? new NotStopped(messageOf(cause), { cause }) : cause;
    });
  }
}

/** Returns when the server has answered. Throws `timeout` when that takes too long. */
async function connect(
  proxy: RunProxy,
  { server, startAnother }: StartedServer,
  { answerMs, onLate, signal }: { answerMs: number; onLate: () => void; signal: AbortSignal },
): Promise<void> {
  const deadline = AbortSignal.timeout(answerMs);
  try {
    await proxy.connect(server, startAnother, AbortSignal.any([signal, deadline]));
  } catch (error) {
    if (!deadline.aborted || signal.aborted) throw error;
    onLate();
    throw timedOut(`the server did not answer initialize within ${answerMs / 1000} seconds`, {
      hint: 'check its arguments and its transport',
    });
  }
}

/** A server that ended without being asked to. The message continues "the server". */
class ServerEnded extends Error {
  readonly workedMs: number;

  constructor(how: string, workedMs: number) {
    super(how);
    this.workedMs = workedMs;
  }
}

/** The server could not be started because its runtime is not available. */
export class RuntimeAway extends ThvError {}

/** A server that could not be stopped and may still run. */
export class NotStopped extends Error {}

function failureOf(error: unknown): RunFailure {
  const hasEnded = error instanceof ServerEnded;
  return { reason: hasEnded ? `the server ${error.message}` : messageOf(error), hasEnded, error };
}

/** Clients read this behind the name of the workload. */
function disconnectReasonOf(error: unknown): string {
  return error instanceof ServerEnded ? `it ${error.message}` : messageOf(error);
}

/** When the next attempt begins, in parentheses behind a reason. */
export function nextAttempt(retryInMs: number | undefined): string {
  return retryInMs === undefined ? '' : ` (next attempt in ${Math.round(retryInMs / 1000)} s)`;
}

/** Retrying does not fix these failures, and users should not be asked to sign in repeatedly. */
const permanent: ReadonlySet<FailureKind> = new Set(['not-implemented', 'unsupported', 'unauthorized']);

function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof ThvError && permanent.has(error.kind));
}

function backoffMs(attempt: number, { firstBackoffMs, maxBackoffMs }: RunTiming): number {
  return Math.min(firstBackoffMs * 2 ** (attempt - 1), maxBackoffMs);
}

/** Returns after the time, or as soon as the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {}); // aborted, which the caller looks at
}

/** Rejects with the reason of the signal when it aborts. */
export async function rejection(signal: AbortSignal): Promise<never> {
  await untilAborted(signal);
  throw signal.reason;
}

/** Returns when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
