import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { statePaths } from '@toolhive/state/paths';
import { keyringAsset, keyringHelper, keyringHelperWord } from './keyring-helper.ts';

/**
 * How to start the helper on this machine, and the library that it loads. Undefined if the library is not installed.
 */
export async function findKeyringHelper(
  env: NodeJS.ProcessEnv,
): Promise<{ args: string[]; library: string } | undefined> {
  if (isSea()) {
    if (!getAssetKeys().includes(keyringAsset)) return undefined;
    const bytes = Buffer.from(getRawAsset(keyringAsset));
    return { args: [keyringHelperWord], library: await unpack(bytes, statePaths(env).cache) };
  }
  try {
    const require = createRequire(import.meta.url);
    const library = require.resolve('@napi-rs/keyring');
    return { args: ['-e', `(${keyringHelper.toString()})(require)`], library };
  } catch {
    return undefined; // installed without this optional library, which exists only for some systems
  }
}

/** Only a file can be loaded. An existing file is used if it is identical, byte for byte. */
async function unpack(bytes: Buffer, folder: string): Promise<string> {
  const own = join(folder, 'native');
  await mkdir(own, { recursive: true, mode: 0o700 });
  await chmod(own, 0o700); // only this user can change the file between the check and its use
  const path = join(own, `keyring-${hashOf(bytes).slice(0, 16)}.node`);
  const present = await readFile(path).catch(() => undefined); // the first time
  if (present !== undefined && hashOf(present) === hashOf(bytes)) return path;
  const fresh = `${path}.${process.pid}`;
  await writeFile(fresh, bytes, { mode: 0o700 });
  await rename(fresh, path);
  return path;
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
