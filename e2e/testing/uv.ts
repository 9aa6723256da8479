import { execFile } from 'node:child_process';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** A folder with `uv`, from the public Python index, and a PATH that begins with it. */
export async function installUv(): Promise<{ path: string } & AsyncDisposable> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'thv-uv-'));
  const install = ['-m', 'pip', 'install', '--quiet', '--target', folder.path, 'uv'];
  await promisify(execFile)('python3', install);
  return {
    path: [join(folder.path, 'bin'), process.env['PATH']].join(delimiter),
    [Symbol.asyncDispose]: () => folder.remove(),
  };
}
