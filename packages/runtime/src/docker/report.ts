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

/** Describes the engine that answered: which one, and what of a launch it cannot enforce on this machine. */
export async function reportOn(
  engine: Engine,
  { rulesProblem, signal }: { rulesProblem: string | undefined; signal: AbortSignal | undefined },
): Promise<RuntimeReport> {
  const aborting = signal && { signal };
  // Podman runs other programs to answer either, which takes about half a second each.
  const [{ Version }, told] = await Promise.all([
    callEngine(engine, EngineVersion, { method: 'GET', path: '/version', ...aborting }),
    callEngine(engine, EngineInfo, { method: 'GET', path: '/info', ...aborting }),
  ]);
  const name = engine.kind === 'podman' ? 'Podman' : 'Docker Engine';
  // Podman 4 does not say that it is rootless, and its socket belongs to the user who runs it.
  const isUnsaid = engine.kind === 'podman' && (await isOfOrdinaryUser(engine.socket));
  const info = isUnsaid
    ? { ...told, SecurityOptions: [...(told.SecurityOptions ?? []), 'name=rootless'] }
    : told;
  const rootless = isRootless(info) ? ', rootless' : '';
  const runsLinux = (info.OSType ?? 'linux') === 'linux';
  return {
    runtime: 'docker',
    available: runsLinux,
    detail: `${name} ${Version} at ${engine.socket}${rootless}`,
    ...(!runsLinux && { hint: 'switch the container engine to Linux containers' }),
    limits: [
      ...limitsOf(engine, Version, info),
      unfencedNetworks,
      ...(rulesProblem === undefined ? [] : [unenforcedRules(rulesProblem)]),
    ],
  };
}

/** What it means that the daemon cannot guard the networks of containers. */
export const unenforcedRules = (problem: string): RuntimeLimit => ({
  concerns: 'servers with network rules',
  text: `WARNING: it reaches every host, because the hosts and ports of its profile cannot be enforced in containers here: ${problem}`,
});

/** The engine connects containers with an open network to that of its machine. */
const unfencedNetworks: RuntimeLimit = {
  concerns: 'servers with public hosts only',
  text: 'WARNING: with insecure_allow_all, a container also reaches private addresses and this machine; use a profile that lists hosts or ports instead, or the sandbox',
};

/** What cannot be enforced. */
export function limitsOf(engine: Engine, version: string, info: EngineInfo): RuntimeLimit[] {
  const limits: [boolean, string, RuntimeLimit['concerns']?][] = [
    [info.MemoryLimit === false, 'memory cannot be limited: the memory cgroup is missing'],
    [info.SwapLimit === false, 'swap cannot be limited: the kernel does not account for it'],
    [info.PidsLimit === false, 'the number of processes cannot be limited: the pids cgroup is missing'],
    [info.CpuCfsQuota === false, 'processor time cannot be limited: the cpu cgroup has no quota'],
    [!hasSecurity(info, 'seccomp'), 'system calls are not filtered: the engine runs without seccomp'],
    [
      !isRootless(info) && !hasSecurity(info, 'userns'),
      'user namespaces are not in use: root in a container is root outside, although without capabilities',
    ],
    [
      // It looks for its monitor's note in another folder than the one where that is left.
      engine.kind === 'podman' && version.startsWith('4.'),
      'a server that uses too much memory is ended, but Podman 4 does not say that memory was the reason',
    ],
    [
      // Since 1.44 an engine makes what is mounted below a read-only mount read-only too.
      Number(engine.apiVersion.split('.')[1]) < 44,
      'what is mounted inside a folder that is granted read-only stays writable',
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
    () => false, // it has gone, and the next call says so
  );
}

function isRootless(info: EngineInfo): boolean {
  return hasSecurity(info, 'rootless');
}

function hasSecurity({ SecurityOptions }: EngineInfo, name: string): boolean {
  return (SecurityOptions ?? []).some((option) => option.split(',').includes(`name=${name}`));
}
