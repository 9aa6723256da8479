import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { User } from './thv.ts';

/** Makes a document the registry of a user whose daemon does not run yet. */
export async function useRegistry({ home }: User, registry: object): Promise<void> {
  const file = join(home, 'registry.json');
  await writeFile(file, JSON.stringify(registry));
  const settings = join(home, '.config/toolhive');
  await mkdir(settings, { recursive: true });
  await writeFile(join(settings, 'config.yaml'), `local_registry_path: ${file}\n`);
}
