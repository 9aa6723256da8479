import type { RunConfig } from '@toolhive/contract/run-config';
import { withoutReplaceable } from '@toolhive/runtime/search-path';
import type { WorkloadId } from '@toolhive/state/workload-id';
import type { Logger } from 'pino';
import type { GrantedMounts } from './granted-mounts.ts';
import { dangersOfMount, thisUser } from './mount-warnings.ts';
import { mountsOfRunConfig } from './mounts.ts';

/**
 * The environment in which the daemon finds programs. No program that a server could have replaced is among them, although the
 * daemon can have another PATH than at the time of the grant.
 */
export async function trustedEnvironment(
  env: NodeJS.ProcessEnv,
  workloads: readonly { runConfig: RunConfig; id?: WorkloadId | undefined }[],
  { log, mounts }: { log: Pick<Logger, 'warn'>; mounts: Pick<GrantedMounts, 'places'> },
): Promise<NodeJS.ProcessEnv> {
  const user = thisUser();
  const owner = { ...user, home: env['HOME'] ?? user.home, env: { ...env, PATH: undefined } };
  const writable = await Promise.all(
    workloads.map(async ({ id, runConfig }) => {
      const places = id === undefined ? {} : await mounts.places(id);
      return (
        writableOf(runConfig)
          // With any PATH, the user had to accept these.
          .filter((mount) => !dangersOfMount(mount, owner).some(includesPrograms))
          // A source that leads elsewhere by now is not mounted.
          .map(({ source: path }) => ({
            path,
            place: Object.hasOwn(places, path) ? places[path] : undefined,
          }))
      );
    }),
  );
  const found = await withoutReplaceable(env, writable.flat());
  if (found.leftOut.length > 0)
    log.warn(
      { directories: found.leftOut },
      'programs in these directories of PATH are not used, because a server can change them',
    );
  return found.env;
}

const includesPrograms = ({ risk }: { risk: string }): boolean => risk !== 'mount-credentials';

/** A run config with an invalid mount never starts. */
function writableOf(runConfig: RunConfig) {
  try {
    return mountsOfRunConfig(runConfig).filter(({ readOnly }) => !readOnly);
  } catch {
    return [];
  }
}
