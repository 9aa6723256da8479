import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { raiseFault } from '@toolhive/contract/fault';
import type { Exceeded } from '../exceeded.ts';
import type { ResourceLimits } from '../runtime.ts';
import type { Machine } from './check.ts';
import { type SandboxPlan, firstContent } from './plan.ts';
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

/** How to set the limits that all processes of a sandbox inherit. */
export interface InheritedLimits {
  /** A program that sets them and then runs bubblewrap, and its arguments. */
  wrapper: readonly string[];
  /** Sets those that the wrapper could not set, on the sandbox's first process. */
  set: (pid: number) => Promise<void>;
}

/** More than bubblewrap opens itself. */
const FILES_OF_BUBBLEWRAP = 256;

/**
 * Returns how to set the kernel's limits per process or user. They are set from outside, because the server's environment
 * decides how programs inside behave. A wrapper saves a process of the daemon: to start one, Linux copies the daemon's page
 * tables, and nothing else happens in these 5 to 15 ms.
 */
export function inheritedLimits(
  { prlimit, cgroups, countsProcesses }: Machine,
  { openFiles, processes, diskBytes }: ResourceLimits,
  plan: SandboxPlan,
): InheritedLimits {
  const nothing = async (): Promise<void> => {};
  if (prlimit === undefined) return { wrapper: [], set: nothing };
  const files = Math.min(openFiles, openFilesCeiling());
  const flags = [
    `--nofile=${files}:${files}`,
    `--fsize=${Math.max(LARGEST_FILE_BYTES, diskBytes)}`,
    '--core=0',
  ];
  const countsInSandbox = cgroups.pids === undefined && countsProcesses;
  if (!countsInSandbox && files >= firstContent(plan) + plan.contents.length + FILES_OF_BUBBLEWRAP)
    return { wrapper: [prlimit, ...flags, '--'], set: nothing };
  // Only in the sandbox's own user namespace are its processes alone counted.
  if (countsInSandbox) flags.push(`--nproc=${processes}`);
  return {
    wrapper: [],
    async set(pid) {
      await run(prlimit, [`--pid=${pid}`, ...flags], { env: {} });
    },
  };
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
