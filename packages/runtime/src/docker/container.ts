import { timedOut } from '@toolhive/contract/failure';
import * as z from 'zod';
import { callEngine, isFailure, type Call, type Engine } from './engine.ts';
import { withRetries } from './retry.ts';
import { settlesWithin } from './settles-within.ts';

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
  Mounts: z.array(z.object({ Type: z.string().nullish(), Name: z.string().nullish() })).nullish(),
  NetworkSettings: z.object({
    Ports: z.record(z.string(), z.array(z.object({ HostPort: z.string() })).nullish()).nullish(),
  }),
});
/** The engine's container description, as far as ToolHive uses it. */
export type Inspected = z.infer<typeof Inspected>;

/** Inspects a container by name or ID. Returns undefined if the container does not exist. */
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

/** How long another call may take to remove a container. A daemon at its start waits for that. */
const REMOVAL_MS = 60_000;

/** Removes a container and its files, running or not. A missing container is not an error. */
export async function removeContainer(engine: Engine, id: string): Promise<void> {
  const remove = () =>
    callEngine(engine, z.unknown(), {
      method: 'DELETE',
      path: `/containers/${id}`,
      query: { force: '1', v: '1' },
    });
  try {
    await withRetries(/state improper/, remove); // Podman cannot stop a container that is ending by itself
  } catch (error) {
    if (isFailure(error, 'not-found')) return;
    // Another call is removing the container, so wait for that call.
    if (!isFailure(error, 'conflict')) throw error;
    if (!(await settlesWithin(waitForContainer(engine, id, 'removed'), REMOVAL_MS)))
      throw timedOut(`${engine.kind} is still removing the container ${id}`);
  }
}

/** Sends a signal to the server inside. One that has ended is fine. */
export async function signalContainer(engine: Engine, id: string, signal: string | number): Promise<void> {
  try {
    const query = { signal: String(signal) };
    await callEngine(engine, z.unknown(), { method: 'POST', path: `/containers/${id}/kill`, query });
  } catch (error) {
    if (isFailure(error, 'timeout')) throw error;
    // Engines report the absence of a process differently.
    const inspected = await inspectContainer(engine, id);
    if (inspected?.State.Running === true) throw error;
  }
}

/** Returns when the container has ended or was removed. Has no time limit. */
export async function waitForContainer(
  engine: Engine,
  id: string,
  condition: 'not-running' | 'removed',
): Promise<void> {
  const call: Call = {
    method: 'POST',
    path: `/containers/${id}/wait`,
    query: { condition },
    timeoutMs: 'none',
  };
  // For Docker's call, Podman before 4.6 looks at the container without a pause: a tenth of a processor per container.
  const own: Call = { ...call, path: `/libpod${call.path}`, query: { interval: PODMAN_LOOKS } };
  try {
    const isOwn = engine.kind === 'podman' && condition === 'not-running';
    await callEngine(engine, z.unknown(), isOwn ? own : call);
  } catch (error) {
    if (condition !== 'removed' || !isFailure(error, 'not-found')) throw error;
  }
}

/** How long Podman pauses between two looks at a container that runs. */
const PODMAN_LOOKS = '100ms';
