import type { RunConfig } from '@toolhive/contract/run-config';
import { withoutReplaceable } from '@toolhive/runtime/search-path';
import type { Logger } from 'pino';
import { dangersOfMount, thisUser } from './mount-warnings.ts';
import { mountsOfRunConfig } from './mounts.ts';

/**
 * The environment in which the daemon finds programs. No program that a server could have replaced is among them, although the
 * daemon can have another PATH than at the time of the grant.
 */
export async function trustedEnvironment(
  env: NodeJS.ProcessEnv,
  workloads: readonly { runConfig: RunConfig }[],
  log: Pick<Logger, 'warn'>,
): Promise<NodeJS.ProcessEnv> {
  const user = thisUser();
  const owner = { ...user, home: env['HOME'] ?? user.home, env: { ...env, PATH: undefined } };
  const writable = workloads.flatMap(({ runConfig }) => writableOf(runConfig));
  // With any PATH, the user had to accept these.
  const unaccepted = writable.filter((mount) => !dangersOfMount(mount, owner).some(includesPrograms));
  const found = await withoutReplaceable(
    env,
    unaccepted.map(({ source }) => source),
  );
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
