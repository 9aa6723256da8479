import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** Names the folder with the list of kept homes to the processes of all test files. */
const variable = 'THV_KEPT_HOMES';

/** Ends the daemons of homes that test files have left to others, and removes the homes, at the end of a run of Vitest. */
export default async function setup(): Promise<() => Promise<void>> {
  const list = await mkdtemp(join(tmpdir(), 'thv-kept-homes-'));
  process.env[variable] = list;
  return async () => {
    const names = await readdir(list);
    if (names.length > 0) {
      const { endDaemonIn } = await import('./thv.ts');
      const homes = names.map((name) => join(tmpdir(), name));
      await Promise.all(homes.map(endDaemonIn));
      await Promise.all(homes.map((home) => rm(home, { recursive: true, force: true })));
    }
    await rm(list, { recursive: true });
  };
}

/** Leaves a home to other test files. Returns whether something removes it at the end. */
export async function keepHome(home: string): Promise<boolean> {
  const list = process.env[variable];
  if (list === undefined) return false;
  await writeFile(join(list, basename(home)), '');
  return true;
}
