import { setTimeout as delay } from 'node:timers/promises';
import { raiseFault } from '@toolhive/contract/fault';
import type { Progress, Runtime } from './runtime.ts';

/** How often a runtime that works is asked before it counts as slow. A server may take some seconds to end. */
const LOOKS = 8;

interface SlowEnd {
  /** How long the server may take before its runtime is asked, and then how often. */
  patienceMs: number;
  /** Receives the reason why the server has not ended yet. */
  report: Progress;
}

/**
 * Waits until a server has ended. If that takes long because its runtime does not work, such as a container engine that
 * hangs, reports the reason.
 */
export async function explainSlowEnd<Ended>(
  ended: Promise<Ended>,
  runtime: Pick<Runtime, 'check'> | undefined,
  slowEnd: SlowEnd,
): Promise<Ended> {
  const over = new AbortController();
  if (runtime !== undefined) explain(runtime, slowEnd, over.signal).catch(raiseFault);
  try {
    return await ended;
  } finally {
    over.abort();
  }
}

async function explain(
  runtime: Pick<Runtime, 'check'>,
  { patienceMs, report }: SlowEnd,
  signal: AbortSignal,
): Promise<void> {
  let told: string | undefined;
  for (let looks = 1; !signal.aborted; looks += 1) {
    await delay(patienceMs, undefined, { signal }).catch(() => {}); // the server has ended
    if (signal.aborted) return;
    const { available, detail } = await runtime.check(signal);
    // An engine can answer this question and carry out nothing.
    const reason = available ? 'the runtime has not carried out the request to end it' : detail;
    if (signal.aborted || reason === told || (available && looks < LOOKS)) continue;
    report(`it has not ended yet: ${reason}`);
    told = reason;
  }
}
