import { setTimeout as delay } from 'node:timers/promises';

/** Whether a promise is fulfilled within a time. Rejects if the promise rejects before. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const settled = promise.then(() => true);
  const late = delay(ms, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([settled, late]);
  } finally {
    timer.abort();
  }
}
