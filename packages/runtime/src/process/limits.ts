import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { raiseFault } from '@toolhive/contract/fault';
import type { Exceeded } from '../exceeded.ts';
import type { ResourceLimits } from '../runtime.ts';
import type { Machine } from './check.ts';
import { markOf } from '../mark.ts';
import { openFilesCeiling } from '../open-files.ts';
import type { Sandbox } from './sandbox.ts';
import { Watchdog } from './watchdog.ts';

/** The name prefix of control groups, by which a later daemon recognizes leftovers. */
export const groupPrefix = (daemonId: string) => `toolhive-${markOf(daemonId)}-`;

/** A name for the control group of one more sandbox. */
export const groupName = (daemonId: string) => `${groupPrefix(daemonId)}${randomUUID().slice(0, 8)}`;

const LARGEST_FILE_BYTES = 4 * 1024 ** 3;

const run = promisify(execFile);

/**
 * Sets the kernel's limits per process or user on the sandbox's first process, from which all others inherit them.
 * Sets them from outside, because the server's environment decides how programs inside behave.
 */
export async function setLimits(
  { prlimit, cgroups, countsProcesses }: Machine,
  { openFiles, processes, diskBytes }: ResourceLimits,
  pid: number,
): Promise<void> {
  if (prlimit === undefined) return;
  const files = Math.min(openFiles, openFilesCeiling());
  await run(
    prlimit,
    [
      `--pid=${pid}`,
      `--nofile=${files}:${files}`,
      `--fsize=${Math.max(LARGEST_FILE_BYTES, diskBytes)}`,
      '--core=0',
      ...(cgroups.pids === undefined && countsProcesses ? [`--nproc=${processes}`] : []),
    ],
    { env: {} },
  );
}

/** Watches the limits that the kernel does not enforce on this machine. */
export function watchLimits(
  sandbox: Sandbox,
  { cgroups }: Machine,
  { memoryBytes, processes }: ResourceLimits,
) {
  const unlimited = {
    ...(cgroups.memory === undefined ? { memoryBytes } : {}),
    ...(cgroups.pids === undefined ? { processes } : {}),
  };
  let exceeded: Exceeded | undefined;
  const watchdog = new Watchdog(sandbox.init, unlimited, (limit) => {
    exceeded = limit;
    sandbox.kill();
  });
  sandbox.ended.then(() => watchdog[Symbol.dispose]()).catch(raiseFault);
  return { exceeded: () => exceeded };
}
