import { setTimeout as delay } from 'node:timers/promises';
import { timedOut } from '@toolhive/contract/failure';

const pollMs = 50;

/** Polls until an answer is available, and returns it. Throws `timeout` after the time limit. */
export async function waitUntil<Answer>(
  ask: () => Promise<Answer | undefined>,
  { timeoutMs, signal, what }: { timeoutMs: number; signal: AbortSignal; what: string },
): Promise<Answer> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw timedOut(`timed out while waiting for ${what}`);
    await delay(pollMs, undefined, { signal });
  }
}

/** Timers take no longer one: they would go off at once. */
const longestMs = 2 ** 31 - 1;

/** Goes off after a time. */
export function limitOf(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(Math.round(ms), longestMs));
}

/**
 * Runs work until `signal` aborts or a time limit ends. After the limit, throws the result of `late` for the work's
 * error.
 */
export async function withinLimit<Result>(
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
  late: (cause: unknown) => Error,
): Promise<Result> {
  const limit = limitOf(limitMs);
  try {
    return await work(AbortSignal.any([signal, limit]));
  } catch (thrown) {
    throw limit.aborted && !signal.aborted ? late(thrown) : thrown;
  }
}

/** Returns after the abort. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
