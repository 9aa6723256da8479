import { constants } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '@toolhive/contract/failure';
import { excessReason } from '../exceeded.ts';
import type { Exit, Instance, InstanceAddress, Launch, RuntimeLimit } from '../runtime.ts';
import type { Attachment } from './attach.ts';
import {
  inspectContainer,
  removeContainer,
  signalContainer,
  waitForContainer,
  type Inspected,
} from './container.ts';
import { watchVolumes } from './declared-volumes.ts';
import { isFailure, type Engine } from './engine.ts';
import { usageOfContainer } from './usage.ts';
import { settlesWithin } from './settles-within.ts';

/** How much of the grace period a stdio server has to react to the end of its input, before the signal. */
const INPUT_END_MS = 1_000;
/** How long the last output may take to arrive after the container has ended. A stalled reader loses the rest. */
const LAST_OUTPUT_MS = 2_000;
/** How long an engine may be away (for a restart) before its containers count as lost. */
const ENGINE_AWAY_MS = 30_000;
const RECONNECT_INTERVAL_MS = 500;
/** A call that lasts longer than this was not refused. */
const CONNECTED_MS = 5_000;

/** A container that has just started. */
export interface Started {
  id: string;
  attachment: Attachment;
  address: InstanceAddress | undefined;
  launch: Launch;
  limits: readonly RuntimeLimit[];
  /** The volumes that the image declares and that end with the container. */
  volumes: readonly string[];
  /** The stop signal: its name or number. */
  stopSignal: string | number;
  /** Called when nothing of the container is left. */
  release: () => Promise<void>;
  log: (message: string, fields: Record<string, unknown>) => void;
}

/** Watches a running container until all of it is removed. */
export function openInstance(engine: Engine, started: Started): Instance {
  const { id, attachment, address, launch, limits, volumes, stopSignal } = started;
  const { stdio } = attachment;
  let removed: Promise<void> | undefined;
  const remove = () => (removed ??= removeContainer(engine, id));

  /** The engine may not have received the signal, for example because it hung. */
  let mustEnd = false;
  const onEngineBack = (): void => {
    if (mustEnd) signalContainer(engine, id, 'SIGKILL').catch(() => {});
  };
  const ended = waitForExit(engine, id, { launch, onEngineBack });
  const lost = stdio === undefined ? undefined : loseWithConnection();
  const over = new AbortController();
  const excess = endIfOverfull();
  const exited = settle();

  /** A stdio server that we no longer hear is of no use, and must not live on unheard. */
  async function loseWithConnection(): Promise<boolean> {
    await attachment.closed;
    if (await settlesWithin(ended, LAST_OUTPUT_MS)) return false;
    // When the engine cannot be told either, its containers count as lost below.
    await signalContainer(engine, id, 'SIGKILL').catch(() => {});
    return true;
  }

  /** Returns the reason if the server stored too much. */
  async function endIfOverfull(): Promise<string | undefined> {
    const reason = await watchVolumes(engine, volumes, launch.limits, over.signal);
    if (reason === undefined) return undefined;
    mustEnd = true; // if the engine is away
    await signalContainer(engine, id, 'SIGKILL').catch(() => {});
    return reason;
  }

  async function settle(): Promise<Exit> {
    const exit = await ended;
    over.abort();
    await settlesWithin(attachment.closed, LAST_OUTPUT_MS);
    attachment.close();
    try {
      await remove();
    } catch (error) {
      // The next sweep or the next start with this name removes the container.
      started.log('container could not be removed', { workload: launch.workload, error: messageOf(error) });
    }
    await release();
    const reason = exit.reason ?? (await excess);
    if (reason !== undefined) return { ...exit, reason };
    return (await lost) ? { ...exit, reason: 'lost its connection to the container engine' } : exit;
  }

  async function release(): Promise<void> {
    try {
      await started.release();
    } catch (error) {
      started.log('the network of a container could not be removed', {
        workload: launch.workload,
        error: messageOf(error),
      });
    }
  }

  async function stop(graceMs: number): Promise<void> {
    if (graceMs > 0) {
      const inputMs = stdio === undefined ? 0 : Math.min(INPUT_END_MS, graceMs / 2);
      stdio?.input.end();
      if (inputMs === 0 || !(await settlesWithin(ended, inputMs))) {
        // The image names this signal. If the engine does not know the signal or does not answer, the container is
        // killed after the grace period.
        signalContainer(engine, id, stopSignal).catch(() => {});
        await settlesWithin(ended, graceMs - inputMs);
      }
    }
    mustEnd = true;
    await signalContainer(engine, id, 'SIGKILL');
    await exited;
    await remove();
  }

  return {
    id,
    ...(stdio && { stdio }),
    ...(address && { address }),
    limits,
    exited,
    usage: () => usageOfContainer(engine, id),
    stop,
    [Symbol.asyncDispose]: () => stop(0),
  };
}

/** `onEngineBack` is called before each further look at the container after one that failed. */
async function waitForExit(
  engine: Engine,
  id: string,
  { launch, onEngineBack }: { launch: Launch; onEngineBack: () => void },
): Promise<Exit> {
  let awaySince: number | undefined;
  for (;;) {
    const begunMs = performance.now();
    try {
      if (awaySince !== undefined) onEngineBack();
      await waitForContainer(engine, id, 'not-running');
      const inspected = await inspectContainer(engine, id);
      if (inspected !== undefined) return exitOf(inspected, launch);
      return { code: null, signal: null, reason: 'was removed by another program' };
    } catch (error) {
      if (isFailure(error, 'not-found')) {
        return { code: null, signal: null, reason: 'was removed by another program' };
      }
      const now = performance.now();
      // An engine that has just answered for a while was back in the meantime.
      if (awaySince === undefined || now - begunMs > CONNECTED_MS) awaySince = now;
      if (now - awaySince > ENGINE_AWAY_MS) {
        return { code: null, signal: null, reason: 'lost its container engine' };
      }
      await delay(RECONNECT_INTERVAL_MS);
    }
  }
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

function exitOf({ State }: Inspected, { limits }: Launch): Exit {
  // Engines report a death by signal like a shell does.
  const signal = signalNames.get(State.ExitCode - 128) ?? null;
  const outOfMemory = State.OOMKilled === true && State.ExitCode !== 0;
  return {
    code: signal === null ? State.ExitCode : null,
    signal,
    ...(outOfMemory && {
      reason: excessReason('memory', limits),
    }),
  };
}
