import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '@toolhive/contract/failure';
import * as z from 'zod';
import { callEngine, isFailure, type Engine } from './engine.ts';

const Inspected = z.object({
  Id: z.string(),
  Name: z.string(),
  Config: z.object({
    Labels: z.record(z.string(), z.string()).nullish(),
    StopSignal: z.union([z.string(), z.number()]).nullish(),
  }),
  State: z.object({
    Pid: z.number().nullish(),
    Running: z.boolean(),
    ExitCode: z.number(),
    OOMKilled: z.boolean().nullish(),
  }),
  NetworkSettings: z.object({
    Ports: z.record(z.string(), z.array(z.object({ HostPort: z.string() })).nullish()).nullish(),
  }),
});
/** What an engine tells of a container, as far as we ask. */
export type Inspected = z.infer<typeof Inspected>;

/** Looks at a container by name or id; undefined when there is none. */
export async function inspectContainer(
  engine: Engine,
  id: string,
  signal?: AbortSignal,
): Promise<Inspected | undefined> {
  try {
    const path = `/containers/${id}/json`;
    return await callEngine(engine, Inspected, { method: 'GET', path, ...(signal && { signal }) });
  } catch (error) {
    if (isFailure(error, 'not-found')) return undefined;
    throw error;
  }
}

/** How often and how soon a removal is tried again while a container is ending. */
const REMOVAL_RETRIES = 20;
const REMOVAL_RETRY_MS = 100;

/** Removes a container, running or not, with what it wrote. One that is gone is fine. */
export async function removeContainer(engine: Engine, id: string): Promise<void> {
  for (let retries = 0; ; retries++) {
    try {
      await callEngine(engine, z.unknown(), {
        method: 'DELETE',
        path: `/containers/${id}`,
        query: { force: '1', v: '1' },
      });
      return;
    } catch (error) {
      if (isFailure(error, 'not-found')) return;
      if (isFailure(error, 'conflict')) {
        // Somebody else is removing it: wait until that is done.
        return await waitForContainer(engine, id, 'removed');
      }
      // Podman fails to end what ends at the same time.
      if (!/state improper/.test(messageOf(error)) || retries >= REMOVAL_RETRIES) throw error;
      await delay(REMOVAL_RETRY_MS);
    }
  }
}

/** Sends a signal to the server inside. One that has ended is fine. */
export async function signalContainer(engine: Engine, id: string, signal: string | number): Promise<void> {
  try {
    const query = { signal: String(signal) };
    await callEngine(engine, z.unknown(), { method: 'POST', path: `/containers/${id}/kill`, query });
  } catch (error) {
    // Engines differ in how they say that there is nobody left to signal.
    const inspected = await inspectContainer(engine, id);
    if (inspected?.State.Running === true) throw error;
  }
}

/** Returns when the container has ended, or is gone altogether; for as long as that takes. */
export async function waitForContainer(
  engine: Engine,
  id: string,
  condition: 'not-running' | 'removed',
): Promise<void> {
  const path = `/containers/${id}/wait`;
  try {
    await callEngine(engine, z.unknown(), { method: 'POST', path, query: { condition }, timeoutMs: 'none' });
  } catch (error) {
    if (condition !== 'removed' || !isFailure(error, 'not-found')) throw error;
  }
}
