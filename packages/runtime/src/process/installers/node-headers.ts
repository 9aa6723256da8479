import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ThvError } from '@toolhive/contract/failure';
import { findProgram, requireNode } from '../../programs.ts';
import type { PackageSource } from '../../source.ts';
import type { InstallContext } from './tool.ts';
import { readIfThere } from '../../read-if-there.ts';

/** Installs an npm package into the folder of a context, after an inspection of its content. */
export type InstallPackage = (source: PackageSource, context: InstallContext) => Promise<void>;

/**
 * The directory whose `include/node` contains the headers of the Node.js that servers run with: its own, or else those in
 * the npm package of the same version. Undefined if neither exists.
 */
export async function nodeHeaders(
  context: InstallContext,
  install: InstallPackage,
): Promise<string | undefined> {
  const { path } = requireNode(context.machine);
  const { stdout } = await promisify(execFile)(path, ['--version'], { env: {} });
  const version = stdout.trim().replace(/^v/, '');
  const own = dirname(dirname(path));
  if (await hasHeaders(own, version)) return own;
  const kept = join(context.cacheDir, '.node-headers', version);
  if (await hasHeaders(kept, version)) return kept;
  return download(version, kept, { context, install });
}

async function download(
  version: string,
  kept: string,
  { context, install }: { context: InstallContext; install: InstallPackage },
): Promise<string | undefined> {
  const name = `node-${process.platform}-${process.arch}`;
  const staged = await mkdtemp(`${context.folder}.headers-`);
  const folder = join(staged, 'package');
  const downloads = join(staged, 'downloads');
  await Promise.all([folder, downloads].map((path) => mkdir(path)));
  try {
    context.report(`downloading the headers of Node.js ${version}`);
    await install({ kind: 'package', scheme: 'npx', name, version }, { ...context, folder, downloads });
    const root = join(folder, 'node_modules', name);
    if (!(await hasHeaders(root, version))) return undefined;
    const ready = join(staged, 'ready');
    await cp(join(root, 'include', 'node'), join(ready, 'include', 'node'), { recursive: true });
    await mkdir(dirname(kept), { recursive: true, mode: 0o700 });
    // Another installation may have been faster.
    await rename(ready, kept).catch(() => {});
    return (await hasHeaders(kept, version)) ? kept : undefined;
  } catch (error) {
    // The script may not need headers, and its own failure says more.
    if (!(error instanceof ThvError) || error.kind === 'cancelled' || error.kind === 'conflict') throw error;
    context.report(`the headers of Node.js ${version} cannot be downloaded: ${error.message}`);
    return undefined;
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

async function hasHeaders(root: string, wanted: string): Promise<boolean> {
  const header = await readIfThere(join(root, 'include', 'node', 'node_version.h'));
  const version = ['MAJOR', 'MINOR', 'PATCH'].map(
    (part) => new RegExp(`#define NODE_${part}_VERSION (\\d+)`).exec(header)?.[1],
  );
  return version.join('.') === wanted;
}

/** The programs that compile native modules, by their Debian package. Sandboxes have only the system's own. */
const compilers = [
  { program: 'python3', packageName: 'python3' },
  { program: 'make', packageName: 'make' },
  { program: 'g++', packageName: 'g++' },
];

/** The Debian packages with the programs for native modules that the system lacks. */
export async function missingCompilers(path = '/usr/local/bin:/usr/bin:/bin'): Promise<string[]> {
  const found = await Promise.all(
    compilers.map(async ({ program, packageName }) =>
      (await findProgram(program, { PATH: path })) === undefined ? [packageName] : [],
    ),
  );
  return found.flat();
}
