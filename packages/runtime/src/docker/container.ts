import * as z from 'zod';
import { callEngine, isFailure, type Engine } from './engine.ts';
import { withRetries } from './retry.ts';

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

/** Removes a container, running or not, with what it wrote. One that is gone is fine. */
export async function removeContainer(engine: Engine, id: string): Promise<void> {
  const remove = () =>
    callEngine(engine, z.unknown(), {
      method: 'DELETE',
      path: `/containers/${id}`,
      query: { force: '1', v: '1' },
    });
  try {
    await withRetries(/state improper/, remove); // Podman cannot end what ends at the same time
  } catch (error) {
    if (isFailure(error, 'not-found')) return;
    // Another call is removing it: wait until that is done.
    if (!isFailure(error, 'conflict')) throw error;
    await waitForContainer(engine, id, 'removed');
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
