import type { RunConfig } from '@toolhive/contract/run-config';
import type { StartInstance } from '@toolhive/proxy/proxy';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import { describeExit } from '@toolhive/runtime/runtime';
import type { Instance, PrepareOptions, Progress, Runtime, RuntimeLimit } from '@toolhive/runtime/runtime';
import { formatSource } from '@toolhive/runtime/source';
import { refuseReplaceable } from '../permissions/granted-mounts.ts';
import type { GrantedMounts } from '../permissions/granted-mounts.ts';
import { grantedSourceOf } from '../permissions/local-source.ts';
import { mountWarnings } from '../permissions/mount-warnings.ts';
import { ignoreFilesIn, mountsOfRunConfig, refuseGlobalIgnoreFile } from '../permissions/mounts.ts';
import { homeFilesOf } from '../registry/built-in.ts';
import type { HomeLimit } from './home-limit.ts';
import { launchOf, packageSourceOf } from './launch.ts';
import { RefusedWrites } from './refused-writes.ts';
import type { StartedServer } from './run-loop.ts';

/** What local servers are started with, the same for all workloads. */
export interface LocalServerOptions {
  /** The runtime of a run config, none for a remote server. Throws if there is no runtime of that name. */
  runtimeFor: (runConfig: RunConfig) => Runtime | undefined;
  /** The secrets of a server, by the environment variable that receives each. Called at every start. */
  secretsOf: (runConfig: RunConfig) => Promise<Record<string, string>>;
  /** Passed to installers. */
  installation: Pick<PrepareOptions, 'trusted' | 'allowedSources'>;
  mounts: GrantedMounts;
  homeLimit: HomeLimit;
  /** The run configs of all workloads. */
  workloads: () => readonly RunConfig[];
  /** The user's list of files that no server may see. */
  ignoreFile: string;
  timing: LocalServerTiming;
}

interface LocalServerTiming {
  /** How long a server may take from its start to its first answer. */
  startMs: number;
  /** How long a server gets to end by itself. */
  stopMs: number;
}

/** What concerns one start. */
interface Start {
  report: Progress;
  signal: AbortSignal;
  /** Receives the output of the server that is not protocol. */
  log: (chunk: Buffer) => void;
  /** Receives what the runtime cannot enforce for the server. */
  onLimits: (limits: readonly RuntimeLimit[]) => void;
}

/** Installs a server if necessary, and starts it with the mounts and the current secrets of its workload. */
export async function startLocalServer(
  runConfig: RunConfig,
  options: LocalServerOptions,
  { report, signal, log, onLimits }: Start,
): Promise<StartedServer> {
  const { name } = runConfig;
  const { homeLimit } = options;
  const runtime = options.runtimeFor(runConfig);
  if (runtime === undefined) throw new Error('there is no runtime for it');
  const secrets = await options.secretsOf(runConfig);
  const mounts = await currentMounts(runConfig, runtime, options);
  let limits: readonly RuntimeLimit[] = [];
  const warn = (...more: readonly RuntimeLimit[]): void => onLimits((limits = [...limits, ...more]));
  const homeFiles = homeFilesOf(packageSourceOf(runConfig));
  const writes = new RefusedWrites({ mounts, homeFiles }, (text) => {
    log(Buffer.from(`[toolhive] ${text}\n`));
    warn({ concerns: 'every server', text });
  });
  const launch = launchOf(runConfig, mounts, secrets, (chunk) => {
    writes.look(chunk);
    log(chunk);
  });
  const source = await runtime.prepare(launch.source, {
    report,
    signal,
    ...options.installation,
    granted: await grantedSourceOf(options.mounts, runConfig),
  });
  warn(...(await runtime.check(signal)).limits, ...(await mountLimits(mounts)));
  await homeLimit.requireSpace(runtime.homes, name);

  report(`starting ${formatSource(source)}`);
  const start = async (given: AbortSignal): Promise<Instance> => {
    const started = await runtime.start({ ...launch, source }, given);
    if (started.stdio !== undefined) writes.follow(started.stdio.output);
    return started;
  };
  const startAnother: StartInstance = (stop) => start(AbortSignal.any([signal, stop]));
  const instance = await start(signal);
  warn(...(instance.limits ?? []));
  const watching = new AbortController();
  const ended = [instance.exited.then(describeExit)];
  if (launch.home === 'persistent') ended.push(homeLimit.watch(runtime.homes, name, watching.signal));
  return {
    id: instance.id,
    server: instance,
    startAnother,
    ended: Promise.race(ended),
    stop: async () => {
      watching.abort();
      await instance.stop(options.timing.stopMs);
    },
    firstAnswerMs: options.timing.startMs,
  };
}

/** The mounts that the user granted. Throws if one has changed since, or if another server could replace it. */
async function currentMounts(
  runConfig: RunConfig,
  runtime: Runtime,
  { mounts, workloads, ignoreFile }: LocalServerOptions,
): Promise<PinnedMount[]> {
  const granted = await mounts.of(runConfig.name, mountsOfRunConfig(runConfig));
  if (runtime.mountsByPath) await refuseReplaceable(runConfig.name, granted, workloads());
  await refuseGlobalIgnoreFile(granted, ignoreFile, runConfig.ignore_config ?? {});
  return granted;
}

/** Warnings about what is really mounted, behind links and in directories that servers can write to. */
async function mountLimits(mounts: readonly PinnedMount[]): Promise<RuntimeLimit[]> {
  const ignored = await ignoreFilesIn(mounts);
  const texts = [
    ...mountWarnings(mounts.map(({ pin }) => pin.path)),
    ...ignored.map((path) => `it can read all files that ${path} lists: hiding files is not available yet`),
  ];
  return texts.map((text) => ({ concerns: 'every server', text }));
}
