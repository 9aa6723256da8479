import { rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { unsupported } from '@toolhive/contract/failure';
import type { PackageSource } from '../../source.ts';
import { inside } from '../plan.ts';
import { type Install, innerPath } from './install.ts';
import {
  chooseBin,
  describeInstall,
  installCommand,
  npm,
  npmFailure,
  runScripts,
  scriptFailure,
  startOf,
} from './npm.ts';
import { refuseOtherSources, refuseOtherSourcesIn } from './npm-sources.ts';
import { field, npmName, readPackageFile, readPackageJson, requireProgramFile } from './package-files.ts';
import type { InstallContext } from './tool.ts';

/** Installs a directory with a package.json, an archive from `npm pack`, or a script without dependencies. */
export async function installLocalNpm(
  source: PackageSource,
  context: InstallContext,
  copy: string,
): Promise<Install> {
  await rename(join(copy, source.git?.subdirectory ?? ''), context.folder);
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
  const builds =
    source.git !== undefined && source.options?.allowScripts?.includes(ownName(manifest)) === true;
  if (builds) await build(source, context);
  else if (refuseOtherSourcesIn(name, manifest, context)) {
    const result = await npm(installCommand(context), context, { registriesOnly: true });
    if (result.code !== 0) throw npmFailure(source, result);
    await refuseOtherSources(name, context);
    await runScripts(source, context);
  }
  const program = innerPath(name, programOf(source, manifest));
  const beginning = await requireProgramFile(name, context.folder, program, unbuiltHint(source, manifest));
  return { version, ...startOf(program, beginning), readOnlyPaths: [] };
}

function ownName(manifest: unknown): string {
  const name = field(manifest, 'name');
  return typeof name === 'string' ? name : '';
}

function unbuiltHint({ git }: PackageSource, manifest: unknown): string {
  if (git === undefined) return 'build the package first, for example with npm run build';
  const name = ownName(manifest);
  return npmName.test(name)
    ? `if the repository contains only source code, let its build script run: add --allow-scripts ${name}`
    : 'try another branch or tag, or report this to its author';
}

/**
 * Builds a repository as npm does: with the packages for development, and with the script `prepare`, or else `build`. The
 * script has no credentials and reaches only the package registry.
 */
async function build(source: PackageSource, context: InstallContext): Promise<void> {
  const { name, options = {} } = source;
  const manifest = await readPackageJson(context.folder, 'package.json');
  refuseOtherSourcesIn(name, manifest, context);
  const command = installCommand(context).filter((option) => option !== '--omit=dev');
  const installed = await npm([...command, '--include=dev'], context, { registriesOnly: true });
  if (installed.code !== 0) throw npmFailure(source, installed);
  const others = (options.allowScripts ?? []).filter((one) => one !== ownName(manifest));
  await runScripts({ ...source, options: { ...options, allowScripts: others } }, context);
  const script = ['prepare', 'build'].find((one) => field(field(manifest, 'scripts'), one) !== undefined);
  if (script !== undefined) {
    context.report(`running the script ${script} of ${name}`);
    const args = ['run', script, '--ignore-scripts=false', '--prefix', inside.package];
    const result = await npm(args, context, { registriesOnly: true, isScript: true, cwd: inside.package });
    if (result.code !== 0) {
      throw unsupported(`the script ${script} of ${name} failed: ${scriptFailure(result)}`, {
        hint: 'try another branch or tag, or report this to its author',
      });
    }
  }
  const pruned = await npm(['prune', '--omit=dev', '--ignore-scripts', '--prefix', inside.package], context);
  if (pruned.code !== 0) throw npmFailure(source, pruned);
  await refuseOtherSources(name, context);
}

/** The program for npx, or else the file that `node DIRECTORY` runs. */
function programOf(source: PackageSource, manifest: unknown): string {
  const [bin, main, own] = ['bin', 'main', 'name'].map((key) => field(manifest, key));
  if (bin !== undefined)
    return chooseBin({ ...source, name: typeof own === 'string' ? own : basename(source.name) }, bin);
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
