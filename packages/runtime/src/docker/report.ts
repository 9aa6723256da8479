import { stat } from 'node:fs/promises';
import * as z from 'zod';
import type { RuntimeLimit, RuntimeReport } from '../runtime.ts';
import { callEngine, type Engine } from './engine.ts';

const EngineInfo = z.object({
  OSType: z.string().nullish(),
  MemoryLimit: z.boolean().nullish(),
  SwapLimit: z.boolean().nullish(),
  PidsLimit: z.boolean().nullish(),
  CpuCfsQuota: z.boolean().nullish(),
  SecurityOptions: z.array(z.string()).nullish(),
});
/** What an engine tells about itself, as far as we ask. */
export type EngineInfo = z.infer<typeof EngineInfo>;

const EngineVersion = z.object({ Version: z.string() });

/** Describes the engine that answered, and the launch settings that it cannot enforce on this machine. */
export async function reportOn(
  engine: Engine,
  {
    networkProblem,
    signal,
  }: {
    networkProblem: string | undefined;
    signal: AbortSignal | undefined;
  },
): Promise<RuntimeReport> {
  const aborting = signal && { signal };
  // Podman runs other programs to answer either, which takes about half a second each, and has told its version before.
  const [version, told] = await Promise.all([
    engine.podmanVersion ?? versionOf(engine, aborting),
    callEngine(engine, EngineInfo, { method: 'GET', path: '/info', ...aborting }),
  ]);
  const name = engine.kind === 'podman' ? 'Podman' : 'Docker Engine';
  // Podman 4 does not report rootless mode, but its socket belongs to the user who runs it.
  const isUnsaid = engine.kind === 'podman' && (await isOfOrdinaryUser(engine.socket));
  const info = isUnsaid
    ? { ...told, SecurityOptions: [...(told.SecurityOptions ?? []), 'name=rootless'] }
    : told;
  const rootless = isRootless(info) ? ', rootless' : '';
  const runsLinux = (info.OSType ?? 'linux') === 'linux';
  return {
    runtime: 'docker',
    available: runsLinux,
    detail: `${name} ${version} at ${engine.socket}${rootless}`,
    ...(!runsLinux && { hint: 'switch the container engine to Linux containers' }),
    limits: [
      ...limitsOf(engine, version, info),
      ...(networkProblem === undefined ? [] : [unrestrictedNetworks(networkProblem)]),
    ],
  };
}

async function versionOf(engine: Engine, aborting: { signal: AbortSignal } | undefined): Promise<string> {
  const { Version } = await callEngine(engine, EngineVersion, {
    method: 'GET',
    path: '/version',
    ...aborting,
  });
  return Version;
}

/** The consequence of container networks whose routes the daemon cannot set. */
const unrestrictedNetworks = (problem: string): RuntimeLimit => ({
  concerns: 'servers with public hosts only',
  text: `WARNING: with insecure_allow_all, a container also reaches private addresses and this machine: ${problem}. Or use a profile that lists hosts or ports`,
});

/** What cannot be enforced. */
export function limitsOf(engine: Engine, version: string, info: EngineInfo): RuntimeLimit[] {
  const limits: [boolean, string, RuntimeLimit['concerns']?][] = [
    [info.MemoryLimit === false, 'memory cannot be limited: the memory cgroup is missing'],
    [
      info.SwapLimit === false,
      'the swap limit cannot be enforced, because the kernel does not account for swap',
    ],
    [info.PidsLimit === false, 'the number of processes cannot be limited: the pids cgroup is missing'],
    [info.CpuCfsQuota === false, 'processor time cannot be limited: the cpu cgroup has no quota'],
    [!hasSecurity(info, 'seccomp'), 'system calls are not filtered: the engine runs without seccomp'],
    [
      !isRootless(info) && !hasSecurity(info, 'userns'),
      'user namespaces are not in use: root in a container is root outside, although without capabilities',
    ],
    [
      // Podman looks for its monitor's file in another directory than the one that contains it.
      engine.kind === 'podman' && version.startsWith('4.'),
      'a server that uses too much memory is stopped, but Podman 4 does not report memory as the reason',
    ],
    [
      // Since API version 1.44, mounts below a read-only mount are also read-only.
      Number(engine.apiVersion.split('.')[1]) < 44,
      'directories mounted below a read-only mount stay writable',
      'servers with mounts',
    ],
  ];
  return limits
    .filter(([applies]) => applies)
    .map(([, text, concerns = 'every server']) => ({ concerns, text }));
}

async function isOfOrdinaryUser(socket: string): Promise<boolean> {
  return stat(socket).then(
    ({ uid }) => uid !== 0,
    () => false, // the container has ended, and the next call reports that
  );
}

function isRootless(info: EngineInfo): boolean {
  return hasSecurity(info, 'rootless');
}

function hasSecurity({ SecurityOptions }: EngineInfo, name: string): boolean {
  return (SecurityOptions ?? []).some((option) => option.split(',').includes(`name=${name}`));
}
