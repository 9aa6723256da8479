import { mkdir, rm } from 'node:fs/promises';
import type { Registry } from '@toolhive/contract/registry';
import { openDockerRuntime } from '@toolhive/runtime/docker';
import { openProcessRuntime } from '@toolhive/runtime/process';
import type { Runtime } from '@toolhive/runtime/runtime';
import type { Logger } from 'pino';
import { openRegistry } from './registry/registry.ts';
import { Runtimes } from './runtimes.ts';
import { takeOwnership } from './state/ownership.ts';
import { statePaths } from './state/paths.ts';
import type { StatePaths } from './state/paths.ts';
import { RunConfigs } from './state/run-configs.ts';
import { Statuses } from './state/statuses.ts';
import { defaultTiming } from './workloads/supervisor.ts';
import type { SupervisorTiming } from './workloads/supervisor.ts';
import { Workloads } from './workloads/workloads.ts';

export interface CoreOptions {
  /** Decides about directories, the runtime and the installers; never handed to servers. */
  env: NodeJS.ProcessEnv;
  version: string;
  log: Logger;
  /** Replaces the runtimes of this machine, in tests. */
  runtimes?: (hiveId: string, paths: StatePaths) => Runtime[];
  timing?: Partial<SupervisorTiming>;
}

/** What the product does, composed. Every function of this package receives it. */
export interface Core extends AsyncDisposable {
  version: string;
  paths: StatePaths;
  log: Logger;
  registry: Registry;
  runtimes: Runtimes;
  workloads: Workloads;
}

/** Takes the state directory and makes it true. Throws `conflict` when another hive has it. */
export async function openCore({
  env,
  version,
  log,
  runtimes: makeRuntimes,
  timing,
}: CoreOptions): Promise<Core> {
  const paths = statePaths(env);
  await using opened = new AsyncDisposableStack();
  const { hiveId } = opened.use(await takeOwnership(paths));

  await rm(paths.temp, { recursive: true, force: true });
  await mkdir(paths.temp, { recursive: true, mode: 0o700 });
  const runtimes = new Runtimes(
    (makeRuntimes ?? machineRuntimes(env, log))(hiveId, paths),
    env['TOOLHIVE_RUNTIME'],
  );
  await runtimes.sweep((runtime, error) =>
    log.warn({ runtime, err: error }, 'leftovers could not be removed'),
  );

  const workloads = opened.use(
    new Workloads({
      runConfigs: new RunConfigs(paths.runConfigs),
      statuses: new Statuses(paths.statuses),
      logDirectory: paths.logs,
      runtimeFor: (runConfig) => runtimes.of(runConfig),
      version,
      log,
      timing: { ...defaultTiming, ...timing },
      now: () => new Date(),
    }),
  );
  await workloads.restore();

  const everything = opened.move();
  return {
    version,
    paths,
    log,
    registry: openRegistry(),
    runtimes,
    workloads,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

/** A container engine if there is one, else sandboxed processes. */
function machineRuntimes(env: NodeJS.ProcessEnv, log: Logger) {
  return (hiveId: string, paths: StatePaths): Runtime[] => [
    openDockerRuntime({
      hiveId,
      env,
      log: (message, fields) => log.debug(fields ?? {}, message),
    }),
    openProcessRuntime({
      hiveId,
      cacheDir: `${paths.cache}/packages`,
      tempDir: paths.temp,
      env,
      log: (message, fields) => log.debug(fields ?? {}, message),
    }),
  ];
}
