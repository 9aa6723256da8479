import { readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { unsupported } from '@toolhive/contract/failure';
import type { PackageSource } from '../../source.ts';
import { inside } from '../plan.ts';
import { type Install, innerPath } from './install.ts';
import { readPackageFile, requireProgramFile } from './package-files.ts';
import { compileModules } from './python-modules.ts';
import type { InstallContext } from './tool.ts';
import { describeTool, fromWheels, uv, uvFailure, withPython } from './uv.ts';

/** Installs a Python project, a wheel, or a script. */
export async function installLocalUv(
  source: PackageSource,
  context: InstallContext,
  copy: string,
): Promise<Install> {
  const entries = await readdir(copy);
  const isFile = entries.length === 1 && entries[0] === basename(source.name);
  if (isFile && source.name.endsWith('.py')) {
    await rename(copy, context.folder);
    return installScript(source, context);
  }
  const place = join(context.folder, 'source');
  await rename(copy, place);
  // All of a repository, because its packages can depend on each other.
  const { subdirectory } = source.git ?? {};
  const inner = isFile ? basename(source.name) : (subdirectory ?? '');
  const path = join(`${inside.package}/source`, inner);
  const install = await installTool(source, context, path);
  await rm(place, { recursive: true });
  return install;
}

async function installTool(source: PackageSource, context: InstallContext, path: string): Promise<Install> {
  const others = (source.options?.with ?? []).flatMap((other) => ['--with', other]);
  const { result, python } = await withPython(source, context, (found) =>
    fromWheels(source, context, (build) =>
      uv(['tool', 'install', ...build, '--python', found.path, ...others, path], context, {
        python: found,
        source,
      }),
    ),
  );
  if (result.code !== 0) throw uvFailure(source, result);
  const { folder } = context;
  const entries = await readdir(join(folder, 'tools'), { withFileTypes: true }).catch(() => []);
  const [tool, ...more] = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  if (tool === undefined || more.length > 0)
    throw unsupported(`uv did not install ${source.name} as one tool`);
  const install = await describeTool({ ...source, name: tool }, { tool, folder, python });
  await compileModules(`tools/${tool}`, python, context);
  return install;
}

const VENV = 'venv';

/** A script runs with Python directly, and with the packages in its metadata (PEP 723) or from the user. */
async function installScript(source: PackageSource, context: InstallContext): Promise<Install> {
  const { name, version = '', options } = source;
  const { folder } = context;
  const script = innerPath(name, basename(name));
  await requireProgramFile(name, folder, script);
  const venv = `${inside.package}/${VENV}`;
  const needed = [
    ...((await hasMetadata(folder, script)) ? ['-r', `${inside.package}/${script}`] : []),
    ...(options?.with ?? []),
  ];
  const { result, python } = await withPython(source, context, async (found) => {
    const given = { python: found, source };
    const made = await uv(['venv', '--clear', '--no-project', '--python', found.path, venv], context, given);
    if (made.code !== 0 || needed.length === 0) return made;
    return fromWheels(source, context, (build) =>
      uv(['pip', 'install', ...build, '--python', venv, ...needed], context, given),
    );
  });
  if (result.code !== 0) throw uvFailure(source, result);
  await compileModules(VENV, python, context);
  return {
    version,
    command: `${VENV}/bin/python`,
    args: [script],
    readOnlyPaths: python.readOnlyPaths,
  };
}

const METADATA_LIMIT = 256 * 1024;

async function hasMetadata(folder: string, script: string): Promise<boolean> {
  const beginning = await readPackageFile(folder, script, METADATA_LIMIT);
  return /^# \/\/\/ script\s*$/m.test(beginning?.toString() ?? '');
}
