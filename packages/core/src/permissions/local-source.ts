import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute } from 'node:path';
import { invalid, notFound } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { SourcePin } from '@toolhive/runtime/mount-source';
import { isLocalPath, parseSource } from '@toolhive/runtime/source';
import type { StoredRunConfig } from '@toolhive/state/run-configs';
import type { GrantedMounts } from './granted-mounts.ts';
import { isWithin } from './mounts.ts';

/**
 * The directory or file of a run config's local package, as a read grant. It is copied and never mounted. Throws
 * `not-found` if it does not exist, and `invalid` if it contains a complete home directory.
 */
export async function localSourceOf({ image = '' }: RunConfig): Promise<LocalGrant[]> {
  const source = parseSource(image);
  if (source.kind !== 'package' || !isLocalPath(source)) return [];
  const { name: path } = source;
  if (!isAbsolute(path))
    throw invalid(`the path ${path} is not absolute`, { hint: 'start the path with a slash' });
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined)
    throw notFound(`${path} not found`, { hint: 'check the path, or restore the files' });
  if (isWithin(await realpath(homedir()).catch(() => homedir()), real)) {
    throw invalid(`${path} contains a whole home directory`, {
      hint: 'specify only the package directory',
    });
  }
  return [{ source: path, target: '/', readOnly: true }];
}

interface LocalGrant {
  source: string;
  target: '/';
  readOnly: true;
}

/** The pin of a local package's path at the time of the grant. Undefined for other packages. */
export async function grantedSourceOf(
  mounts: GrantedMounts,
  { id, runConfig }: StoredRunConfig,
): Promise<SourcePin | undefined> {
  const [granted] = await mounts.of(id, await localSourceOf(runConfig));
  return granted?.pin;
}
