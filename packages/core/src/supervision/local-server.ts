import { ThvError } from '@toolhive/contract/failure';
import { publishedPortOf } from '@toolhive/contract/names';
import type { RunConfig } from '@toolhive/contract/run-config';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import type { StartInstance } from '@toolhive/proxy/proxy';
import type { Egress } from '@toolhive/runtime/egress';
import { makeBlanks } from '@toolhive/runtime/hidden-path';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import { describeExit } from '@toolhive/runtime/runtime';
import type {
  Exit,
  Instance,
  PrepareOptions,
  Progress,
  Runtime,
  RuntimeLimit,
} from '@toolhive/runtime/runtime';
import { formatSource } from '@toolhive/runtime/source';
import { refuseReplaceable } from '../permissions/granted-mounts.ts';
import type { GrantedMounts } from '../permissions/granted-mounts.ts';
import { grantedSourceOf } from '../permissions/local-source.ts';
import { mountWarnings } from '../permissions/mount-warnings.ts';
import { hideFiles } from '../permissions/hidden-files.ts';
import type { VisibleMounts } from '../permissions/hidden-files.ts';
import type { HiddenMemory } from '../permissions/hidden-memory.ts';
import { ignoreFileOf } from '../permissions/ignore-rules.ts';
import type { MountUse } from '../permissions/mount-use.ts';
import { mountsOfRunConfig } from '../permissions/mounts.ts';
import { homeFilesOf } from '@toolhive/registry/built-in';
import type { HomeLimit } from './home-limit.ts';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { StatePaths } from '@toolhive/state/paths';
import { launchOf, packageSourceOf } from './launch.ts';
import type { LiveParts } from './live-parts.ts';
import { RefusedWrites } from '@toolhive/runtime/refused-writes';
import { SignInLinks } from '@toolhive/runtime/sign-in-link';
import { signInMs } from './remote-server.ts';
import { RuntimeAway } from './run-loop.ts';
import type { StartedServer } from './run-loop.ts';

/** What local servers are started with, the same for all workloads. */
export interface LocalServerOptions {
  /** A run config's runtime. Undefined for a remote server. Throws if the runtime does not exist. */
  runtimeFor: (runConfig: RunConfig) => Runtime | undefined;
  /** The secrets of a server, by the environment variable that receives each. Called at every start. */
  secretsOf: (runConfig: RunConfig) => Promise<Record<string, string>>;
  /** Controls a server's network access. `log` receives messages for the server's log. */
  egressOf: (stored: StoredRunConfig, log: (text: string) => void) => Egress;
  /** When the version that a run config runs was published, as RFC 3339, if known. */
  publishedAt?: (runConfig: RunConfig) => string | undefined;
  /** Passed to installers. */
  installation: Pick<PrepareOptions, 'trusted' | 'allowedSources' | 'inspect'>;
  mounts: GrantedMounts;
  hiddenMemory: HiddenMemory;
  mountUse: MountUse;
  homeLimit: HomeLimit;
  /** The run configs of all workloads. */
  workloads: () => readonly RunConfig[];
  /** Where the ignore file of the user is, and where empty files for servers are made. */
  paths: Pick<StatePaths, 'ignoreFile' | 'blanks'>;
  timing: LocalServerTiming;
}

interface LocalServerTiming {
  /** How long a server may take from its start to its first answer. */
  startMs: number;
  /** How long a server may take to exit. */
  stopMs: number;
}

/** What concerns one start. */
interface Start {
  report: Progress;
  /** Receives every instance that is started. */
  live: Pick<LiveParts, 'add'>;
  signal: AbortSignal;
  /** Receives the output of the server that is not protocol. */
  log: (chunk: Buffer) => void;
  /** Receives the settings that the runtime cannot enforce for the server. */
  onLimits: (limits: readonly RuntimeLimit[]) => void;
}

interface StartedLocalServer extends StartedServer {
  /** Settles when its first instance has ended. */
  exited: Promise<Exit>;
}

/** Installs a server if necessary, and starts it with its workload's mounts and current secrets. */
export async function startLocalServer(
  stored: StoredRunConfig,
  options: LocalServerOptions,
  { report, live, signal, log, onLimits }: Start,
): Promise<StartedLocalServer> {
  const { id, runConfig } = stored;
  const { name } = runConfig;
  const { homeLimit } = options;
  const runtime = options.runtimeFor(runConfig);
  if (runtime === undefined) throw new Error('no runtime is available for it');
  const secrets = await options.secretsOf(runConfig);
  const mounts = await currentMounts(stored, runtime, options);
  let limits: readonly RuntimeLimit[] = [];
  const warn = (...more: readonly RuntimeLimit[]): void => onLimits((limits = [...limits, ...more]));
  const homeFiles = homeFilesOf(packageSourceOf(runConfig));
  const note = (text: string): void => log(Buffer.from(`[toolhive] ${text}\n`));
  const tell = (text: string): void => {
    note(text);
    warn({ concerns: 'every server', text });
  };
  const writes = new RefusedWrites({ mounts, homeFiles }, tell);
  const published = launchedPorts(runConfig);
  const signIns = new SignInLinks(published, {
    report,
    warn(text) {
      report(text);
      tell(text);
    },
  });
  const launch = launchOf(runConfig, {
    mounts,
    secrets,
    egress: options.egressOf(stored, note),
    log(chunk) {
      writes.look(chunk);
      signIns.look(chunk);
      log(chunk);
    },
  });
  const granted = await grantedSourceOf(options.mounts, stored);
  const preparing = { report, signal, ...options.installation, network: launch.network.kind, granted };
  const source = await runtime
    .prepare(launch.source, preparing)
    .catch((error: unknown) => throwIfAway(error, runtime, signal));
  warn(...(await runtime.check(signal)).limits, ...mountLimits(mounts));
  await homeLimit.requireSpace(runtime.homes, name, launch.limits.diskBytes);

  report(`starting ${formatSource(source)}`);
  let hasStarted = false;
  const searches = new SerialQueue();
  const start = async (given: AbortSignal): Promise<Instance> => {
    const visible = await searches.run(() => visibleMounts(stored, mounts, options));
    if (!hasStarted) tellHidden(visible, runConfig, { warn, log });
    hasStarted = true;
    const { learning } = runConfig;
    if (learning !== undefined) await options.mountUse.begin(id, learning.since, mounts);
    const seen = { mounts: visible.mounts, hidden: visible.hidden };
    const started = await runtime.start({ ...launch, ...seen, source }, given);
    live.add(started);
    if (started.stdio !== undefined) {
      writes.follow(started.stdio.output);
      signIns.follow(started.stdio.output);
    }
    return started;
  };
  const startAnother: StartInstance = (stop) => start(AbortSignal.any([signal, stop]));
  const instance = await start(signal).catch((error: unknown) => throwIfAway(error, runtime, signal));
  warn(...(instance.limits ?? []));
  const watching = new AbortController();
  let isResting = false;
  const ended = [instance.exited.then((exit) => (isResting ? neverEnding() : describeExit(exit)))];
  if (launch.home === 'persistent') {
    ended.push(homeLimit.watch(runtime.homes, name, launch.limits.diskBytes, watching.signal));
  }
  return {
    id: instance.id,
    server: {
      ...partsOf(instance),
      rest() {
        isResting = true;
        return instance.stop(options.timing.stopMs);
      },
      version: formatSource(source),
    },
    startAnother,
    ended: Promise.race(ended),
    exited: instance.exited,
    stop: async () => {
      watching.abort();
      await instance.stop(options.timing.stopMs);
      await options.mountUse.end(id);
    },
    firstAnswerMs: options.timing.startMs + (published.length > 0 ? signInMs : 0),
  };
}

/** The ports of the server that a browser on this machine can reach. */
const launchedPorts = ({ publish }: RunConfig): number[] =>
  (publish ?? []).map((text) => publishedPortOf(text).serverPort);

/** Throws `RuntimeAway` if a failure is that of the runtime, and otherwise the failure. */
async function throwIfAway(error: unknown, runtime: Runtime, signal: AbortSignal): Promise<never> {
  const isOutside = error instanceof ThvError && (error.kind === 'unavailable' || error.kind === 'timeout');
  if (!isOutside || signal.aborted || (await runtime.check(signal)).available) throw error;
  throw new RuntimeAway(error.kind, error.message, { hint: error.hint, cause: error });
}

/** The server continues in other processes. */
const neverEnding = (): Promise<never> => new Promise(() => {});

function partsOf({ stdio, address }: Instance): Pick<Instance, 'stdio' | 'address'> {
  return { ...(stdio === undefined ? {} : { stdio }), ...(address === undefined ? {} : { address }) };
}

/** The granted mounts. Throws if one has changed since the grant, or if another server could replace it. */
async function currentMounts(
  { id, runConfig }: StoredRunConfig,
  runtime: Runtime,
  { mounts, workloads }: LocalServerOptions,
): Promise<PinnedMount[]> {
  const granted = await mounts.of(id, mountsOfRunConfig(runConfig));
  if (runtime.capabilities.mountsByPath) await refuseReplaceable(runConfig.name, granted, workloads());
  return granted;
}

/** Warnings about the actual mounts, behind links and in directories that servers can write to. */
function mountLimits(mounts: readonly PinnedMount[]): RuntimeLimit[] {
  return mountWarnings(mounts.map((mount) => ({ ...mount, source: mount.pin.path }))).map(everyServer);
}

const everyServer = (text: string): RuntimeLimit => ({ concerns: 'every server', text });

/** The current mounts without hidden files, which are searched for at every start, because files change. */
async function visibleMounts(
  { id, runConfig }: StoredRunConfig,
  mounts: readonly PinnedMount[],
  { paths, hiddenMemory, workloads }: LocalServerOptions,
): Promise<VisibleMounts> {
  if (mounts.length === 0) return { mounts, hidden: [], hasRules: false, warnings: [] };
  const others = workloads().filter(({ name }) => name !== runConfig.name);
  return hideFiles(mounts, {
    ignoreFile: ignoreFileOf(runConfig, paths),
    blanks: await makeBlanks(paths.blanks),
    workload: id,
    memory: hiddenMemory,
    others: others.flatMap((other) => mountsOfRunConfig(other).map(({ source }) => source)),
  });
}

const MOST_TOLD = 50;

/** Lists hidden files for users who ask for them, and reports uncertain ones to everyone. */
function tellHidden(
  { hidden, hasRules, warnings }: VisibleMounts,
  { ignore_config: config }: RunConfig,
  { warn, log }: { warn: (...limits: RuntimeLimit[]) => void; log: Start['log'] },
): void {
  warn(...warnings.map(everyServer));
  if (hasRules) warn({ concerns: 'servers with mounts', text: hiddenOnce });
  if (config?.printOverlays !== true) return;
  for (const { target, covers } of hidden)
    log(Buffer.from(`[toolhive] ${covers.path} is hidden (${target})\n`));
  const told = hidden.slice(0, MOST_TOLD).map(({ covers }) => `${covers.path} is hidden from the server`);
  const more = hidden.length - told.length;
  warn(
    ...told.map(everyServer),
    ...(more > 0 ? [everyServer(`${more} more files are hidden from the server`)] : []),
  );
}

const hiddenOnce =
  'files that match an ignore file are hidden when a server starts: one that is created or replaced later is visible until the next start';
