import { stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { ThvError } from '@toolhive/contract/failure';
import type { Core } from '@toolhive/core/core';

const longestCheckMs = 5_000;

interface Watched {
  core: Core;
  /** Tell how long no connection was open. */
  listeners: readonly { idleMs(): number }[];
  /** How long the daemon stays. 0 is forever. */
  idleMs: () => number;
  signal: AbortSignal;
}

/** Waits until a background daemon is unused, and returns the reason. Rejects when `signal` aborts. */
export async function untilUnused({ core, listeners, idleMs: limit, signal }: Watched): Promise<string> {
  const idleMs = limit();
  const own = await identityOf(core.paths.lock);
  const checkMs = Math.min(longestCheckMs, Math.max(idleMs / 4, 50));
  for (;;) {
    await delay(checkMs, undefined, { signal, ref: false });
    // Another daemon may have made a new directory in its place.
    if (await isGone(core.paths.lock, own)) return 'the state directory was removed';
    if (idleMs > 0 && listeners.every((one) => one.idleMs() >= idleMs) && (await isIdle(core)))
      return 'the daemon is unused';
  }
}

/** No workload should be running, and nothing is lost that only this process knows. */
async function isIdle({ workloads, secrets }: Core): Promise<boolean> {
  if (workloads.all().some(({ condition }) => condition.status !== 'stopped')) return false;
  const provider = await secrets.describe().catch((thrown: unknown) => {
    if (thrown instanceof ThvError) return undefined; // no secrets exist yet
    throw thrown;
  });
  if (provider?.provider_type !== 'encrypted') return true;
  // A password is only in memory, so the user would have to enter it again.
  return provider.locked || !provider.has_password;
}

/** Whether a file was removed or replaced. A directory that cannot be read for a moment is not gone. */
async function isGone(path: string, own: string): Promise<boolean> {
  try {
    return (await identityOf(path)) !== own;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path, { bigint: true });
  return `${dev}:${ino}`;
}
