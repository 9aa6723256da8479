import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Names the folder to the processes of all test files. */
const variable = 'THV_TEST_SERVERS';

/**
 * A folder for one run of Vitest, where the daemons of all users keep the installed test servers. Every daemon can install
 * into it, as daemons can that share the cache of one user, and finds there what another one has installed.
 */
export default async function setup(): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'thv-test-servers-'));
  process.env[variable] = folder;
  return () => rm(folder, { recursive: true, force: true });
}

/** Lets the daemon of a new user find the installed test servers. Does nothing outside of Vitest. */
export async function shareTestServers(home: string): Promise<void> {
  const folder = process.env[variable];
  if (folder === undefined) return;
  const packages = join(home, '.cache/toolhive/packages/npx');
  await mkdir(packages, { recursive: true, mode: 0o700 });
  await symlink(folder, join(packages, 'toolhive-test-servers'));
}
