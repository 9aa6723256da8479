import { rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { unsupported } from '@toolhive/contract/failure';
import type { PackageSource } from '../../source.ts';
import { inside } from '../plan.ts';
import { type Install, innerPath } from './install.ts';
import { chooseBin, describeInstall, installCommand, npm, npmFailure, runScripts, startOf } from './npm.ts';
import { refuseOtherSources, refuseOtherSourcesIn } from './npm-sources.ts';
import { field, readPackageFile, readPackageJson, requireProgramFile } from './package-files.ts';
import type { InstallContext } from './tool.ts';

/** Installs a directory with a package.json, an archive from `npm pack`, or a script without dependencies. */
export async function installLocalNpm(
  source: PackageSource,
  context: InstallContext,
  copy: string,
): Promise<Install> {
  await rename(copy, context.folder);
  const isDirectory = (await readPackageFile(context.folder, 'package.json', 1)) !== undefined;
  if (isDirectory) return installDirectory(source, context);
  const { name, version = '' } = source;
  if (/\.(?:tgz|tar\.gz)$/.test(name)) return installArchive(source, context, basename(name));
  return { version, command: 'node', args: [innerPath(name, basename(name))], readOnlyPaths: [] };
}

/** The lockfile of the directory may name other hosts, so only the registries are reached. */
async function installDirectory(source: PackageSource, context: InstallContext): Promise<Install> {
  const { name, version = '' } = source;
  const manifest = await readPackageJson(context.folder, 'package.json');
  if (manifest === undefined) throw unsupported(`${join(name, 'package.json')} is not valid JSON`);
  if (refuseOtherSourcesIn(name, manifest, context)) {
    const result = await npm(installCommand(context), context, { registriesOnly: true });
    if (result.code !== 0) throw npmFailure(source, result);
    await refuseOtherSources(name, context);
    await runScripts(source, context);
  }
  const program = innerPath(name, programOf(name, manifest));
  const beginning = await requireProgramFile(
    name,
    context.folder,
    program,
    'build the package first, for example with npm run build',
  );
  return { version, ...startOf(program, beginning), readOnlyPaths: [] };
}

/** The program for npx, or else the file that `node DIRECTORY` runs. */
function programOf(name: string, manifest: unknown): string {
  const [bin, main, own] = ['bin', 'main', 'name'].map((key) => field(manifest, key));
  if (bin !== undefined) return chooseBin(typeof own === 'string' ? own : basename(name), bin);
  return typeof main === 'string' ? main : 'index.js';
}

async function installArchive(
  source: PackageSource,
  context: InstallContext,
  file: string,
): Promise<Install> {
  const args = [...installCommand(context), '--allow-file=root', `${inside.package}/${file}`];
  const result = await npm(args, context, { registriesOnly: true });
  if (result.code !== 0) throw npmFailure(source, result);
  await refuseOtherSources(source.name, context);
  await runScripts(source, context);
  const manifest = await readPackageJson(context.folder, 'package.json');
  const [name] = Object.keys(field(manifest, 'dependencies') ?? {});
  if (name === undefined) throw unsupported(`${source.name} is not an archive that npm pack made`);
  const root = innerPath(source.name, `node_modules/${name}`);
  return describeInstall({ ...source, name }, context.folder, root);
}
