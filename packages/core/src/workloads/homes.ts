import { ThvError, conflict, messageOf } from '@toolhive/contract/failure';
import { resourcesOf } from '@toolhive/contract/resources';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { WorkloadDetails } from '@toolhive/contract/workload';
import type { Runtime } from '@toolhive/runtime/runtime';
import type { Logger } from 'pino';
import type { Runtimes } from '../runtimes/runtimes.ts';
import type { Workloads } from './workloads.ts';
import { serverOf } from '@toolhive/registry/server-of';

/** Describes the files that a local server has stored. Undefined if there are none, or if they cannot be measured now. */
export async function describeHome(
  { runtimes }: { runtimes: Runtimes },
  runConfig: RunConfig,
): Promise<WorkloadDetails['home']> {
  if (runConfig.remote_url || runConfig.built_in) return undefined;
  const home = await runtimes
    .of(runConfig)
    .homes.measure(runConfig.name)
    .catch(() => undefined);
  if (home === undefined || home.isEmpty) return undefined;
  return { path: home.place, size_bytes: home.bytes, limit_bytes: resourcesOf(runConfig.resources).disk };
}

/**
 * Throws `conflict` if a server would find the files that another server has stored under the same workload name. Files
 * belong to the package or image that stored them, in any version.
 */
export async function refuseForeignHome(
  { workloads }: { workloads: Pick<Workloads, 'find'> },
  runConfig: RunConfig,
  runtime: Runtime,
): Promise<void> {
  const { name } = runConfig;
  if (runConfig.ephemeral === true) return;
  const present = workloads.find(name)?.runConfig;
  if (
    present !== undefined &&
    present.runtime === runtime.name &&
    serverOf(present.image) === serverOf(runConfig.image)
  )
    return;
  if (!(await runtime.homes.exists(name))) return;
  const home = await runtime.homes.measure(name);
  if (home === undefined || home.isEmpty) return;
  throw conflict(`the home directory of ${name} contains files of another server (${home.place})`, {
    hint:
      present === undefined
        ? 'delete those files, or choose another name with --name'
        : `choose another name with --name, or remove the workload and its files first: thv rm ${name}`,
  });
}

/**
 * Deletes a workload's files. A missing container engine does not prevent the removal of the workload, but keeps its
 * volumes.
 */
export async function removeHome(
  runtimes: Pick<Runtimes, 'of'>,
  runConfig: RunConfig,
  log: Logger,
): Promise<void> {
  const { name } = runConfig;
  try {
    await runtimes.of(runConfig).homes.remove(name);
  } catch (error) {
    if (!(error instanceof ThvError && (error.kind === 'unavailable' || error.kind === 'unsupported')))
      throw error;
    log.warn(
      { workload: name, why: messageOf(error) },
      'the volumes of the workload remain in the container engine',
    );
  }
}
