import { setTimeout as delay } from 'node:timers/promises';

/** A measurement may take this part of the time. */
const SHARE = 0.02;

/**
 * Measures again and again until the signal aborts, less often if a measurement takes long. A failure is no measurement: an
 * engine that is briefly unavailable is asked again later.
 */
export async function* measurements<Measured>(
  measure: () => Promise<Measured>,
  { intervalMs, signal }: { intervalMs: number; signal: AbortSignal },
): AsyncGenerator<Measured> {
  let waitMs = intervalMs;
  for (;;) {
    const isOver = await delay(waitMs, false, { signal, ref: false }).catch(() => true);
    if (isOver) return;
    const startedMs = performance.now();
    const measured = await measure().then(
      (value) => ({ value }),
      () => undefined,
    );
    waitMs = Math.max(intervalMs, (performance.now() - startedMs) / SHARE);
    if (measured !== undefined) yield measured.value;
  }
}
