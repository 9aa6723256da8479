import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '@toolhive/contract/failure';
import { Adoption } from '@toolhive/state/adoption';
import { RunConfigs } from '@toolhive/state/run-configs';
import { removeTemporaries } from '@toolhive/state/files';
import { Logs } from '@toolhive/state/logs';
import { takeOwnership } from '@toolhive/state/ownership';
import { statePaths } from '@toolhive/state/paths';
import type { StatePaths } from '@toolhive/state/paths';
import { setAside } from '@toolhive/state/set-aside';
import { SettingsFile } from '@toolhive/state/settings-file';
import { WorkloadDatabase } from '@toolhive/state/workload-database';
import type { Logger } from 'pino';
import { Events } from '../events/events.ts';
import { ProgressEvents } from '../events/progress-events.ts';
import { GrantedMounts } from '../permissions/granted-mounts.ts';
import { trustedEnvironment } from '../permissions/trusted-environment.ts';
import type { CoreOptions } from './options.ts';
import { WorkloadDirectory } from './workload-directory.ts';

/** Where everything is stored and reported. */
export interface StateWing {
  version: string;
  /** When the daemon started, as RFC 3339. */
  startedAt: string;
  paths: StatePaths;
  log: Logger;
  settings: SettingsFile;
  logs: Logs;
  events: Events;
  /** Reports the progress of long operations to all event watchers. */
  progress: ProgressEvents;
}

/** What only the other wings use. */
interface OpenedState extends StateWing {
  env: NodeJS.ProcessEnv;
  now: () => Date;
  daemonId: string;
  adoption: Adoption;
  database: WorkloadDatabase;
  directory: WorkloadDirectory;
}

/** Takes ownership of the state directory. Throws `conflict` if another daemon owns it, or a later version has written it. */
export async function openState(options: CoreOptions, opened: AsyncDisposableStack): Promise<OpenedState> {
  const { version, log, now = () => new Date() } = options;
  const startedAt = now().toISOString();
  const paths = statePaths(options.env);
  const { daemonId } = opened.use(await takeOwnership(paths, log));
  await prepareDirectories(paths, log);
  const adoption = await Adoption.begin(paths, log);
  const { runConfigs } = await new RunConfigs(paths.runConfigs, log).load();
  const mounts = new GrantedMounts({ directory: paths.mounts, ownDirectories: [], log });
  const env = await trustedEnvironment(options.env, runConfigs, { log, mounts });
  const database = opened.use(await WorkloadDatabase.open(paths.workloads, log));
  const events = opened.use(await Events.open(paths.events, log));
  const progress = opened.use(new ProgressEvents(events));
  const settings = await SettingsFile.open(paths.settings, log);
  const logs = new Logs(paths.logs);
  const directory = new WorkloadDirectory();
  const wing = { version, startedAt, paths, log, settings, logs, events, progress };
  return { ...wing, env, now, daemonId, adoption, database, directory };
}

/**
 * Removes an earlier daemon's leftovers. Sets aside a path that is not a directory, and skips changes that the disk
 * does not allow: the daemon can still serve reads.
 */
async function prepareDirectories(paths: StatePaths, log: Logger): Promise<void> {
  const { config, state, data, runConfigs, groups, adopted, mounts, hidden, mountUse, statuses, logs, temp } =
    paths;
  const orUndone =
    (path: string) =>
    (error: unknown): void =>
      log.error({ path, why: messageOf(error) }, 'directory could not be prepared');
  for (const path of [
    config,
    state,
    data,
    dirname(adopted),
    runConfigs,
    groups,
    mounts,
    hidden,
    mountUse,
    statuses,
    logs,
    paths.registryCopies,
  ]) {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
    const isUnusable = found instanceof Error ? found.code === 'ELOOP' : !found.isDirectory();
    if (isUnusable) await setAside(path, 'not a directory', log);
    await removeTemporaries(path).catch(orUndone(path));
  }
  const emptied = rm(temp, { recursive: true, force: true }).then(() => mkdir(temp, { mode: 0o700 }));
  await emptied.catch(orUndone(temp));
}
