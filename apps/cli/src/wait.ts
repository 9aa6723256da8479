import { setTimeout as delay } from 'node:timers/promises';
import { timedOut } from '@toolhive/contract/failure';

const pollMs = 50;

/** Asks again and again until there is an answer, and returns it. Throws `timeout` when there is none in time. */
export async function waitUntil<Answer>(
  ask: () => Promise<Answer | undefined>,
  { timeoutMs, signal, what }: { timeoutMs: number; signal: AbortSignal; what: string },
): Promise<Answer> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw timedOut(`waited in vain for ${what}`);
    await delay(pollMs, undefined, { signal });
  }
}

/** Returns when it is over. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
