import { chmod, lstat, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Manifest } from '@toolhive/bundles/manifest';
import { BundleStore } from '@toolhive/bundles/store';
import { type ServerTemplate, serverOf } from '@toolhive/bundles/template';
import { invalid, unsupported } from '@toolhive/contract/failure';
import { satisfies, validRange } from 'semver';
import { type BundleSource, type PackageSource, bundleHash } from '../../source.ts';
import { inside } from '../plan.ts';
import type { Install } from './install.ts';
import { projectIn, readUvRun } from './bundle-uv.ts';
import { requireProgramFile } from './package-files.ts';
import { compileModules } from './python-modules.ts';
import type { InstallContext } from './tool.ts';
import { fromWheels, uv, uvFailure, withPython } from './uv.ts';

/** The places in the package's folder. No file of a bundle can have the name of ours. */
const BUNDLE = 'bundle';
const VENV = 'venv';

/**
 * Unpacks a bundle, and installs what it does not contain: the environment of Python. Its manifest chooses among the
 * programs of ToolHive and its own files, and nothing else.
 */
export async function installBundle(
  source: BundleSource,
  context: InstallContext,
  bundlesDir: string,
): Promise<Install> {
  const { name, version = '' } = source;
  const hash = bundleHash(source);
  if (hash === undefined) throw invalid(`the content of the bundle ${name} is not known`);
  await using archive = await new BundleStore(bundlesDir).open(hash, name);
  const { manifest } = archive;
  const template = serverOf(manifest, process.platform);
  const place = join(context.folder, BUNDLE);
  await mkdir(place);
  await archive.extract(place, context.signal);
  const { runner, file = '', args, env, defaults } = template;
  const common = { version, template: { bundle: BUNDLE, directory: BUNDLE, args, env, defaults } };
  if (runner === 'node') {
    requireNodeVersion(manifest);
    return { ...common, command: 'node', args: [], readOnlyPaths: [] };
  }
  if (runner === 'file') {
    const path = `${BUNDLE}/${file}`;
    await requireProgram(name, context.folder, path);
    // Packers on Windows write no modes.
    await chmod(join(context.folder, path), 0o755);
    return { ...common, command: path, args: [], readOnlyPaths: [] };
  }
  return { version, ...(await installPython({ source, manifest, template }, context)) };
}

/** `node` is always the daemon's, so a server for another version must not run by accident. */
function requireNodeVersion({ name, compatibility: { runtimes } }: Manifest): void {
  const range = validRange(runtimes.node ?? '*');
  if (range === null || satisfies(process.versions.node, range, { includePrerelease: true })) return;
  throw unsupported(
    `the bundle ${name} needs Node.js ${runtimes.node}, and ToolHive has ${process.versions.node}`,
    {
      hint: 'ask its author for a newer bundle',
    },
  );
}

async function requireProgram(name: string, folder: string, path: string): Promise<void> {
  const isAlone = dirname(path) === BUNDLE;
  const hint = isAlone
    ? 'a bundle starts programs that it contains, and none of this machine. Ask its author for a bundle with the program'
    : 'ask the author of the bundle to fix its manifest.json';
  const beginning = await requireProgramFile(name, folder, path, hint);
  if (beginning.subarray(0, 2).toString('latin1') === '#!') return;
  const isElf = beginning.subarray(0, 4).toString('latin1') === '\x7FELF';
  const machine = beginning.length >= 20 ? beginning.readUInt16LE(18) : 0;
  if (isElf && machine === machines[process.arch]) return;
  const found = isElf ? 'another processor' : 'another system';
  throw unsupported(`the program ${path.slice(BUNDLE.length + 1)} in ${name} is for ${found}`, {
    hint: `ask its author for a bundle for ${process.platform} on ${process.arch}`,
  });
}

/** `e_machine` of ELF files. */
const machines: Partial<Record<NodeJS.Architecture, number>> = {
  x64: 62,
  arm64: 183,
  arm: 40,
  ia32: 3,
  riscv64: 243,
  ppc64: 21,
  s390x: 22,
};

interface PythonBundle {
  source: BundleSource;
  manifest: Manifest;
  template: ServerTemplate;
}

type PythonInstall = Pick<Install, 'command' | 'args' | 'readOnlyPaths'> &
  Required<Pick<Install, 'template'>>;

/**
 * Makes an environment of Python. A bundle that starts with uv gets its dependencies from the package index. Everything
 * in a bundle comes from its author, so only the index can be reached.
 */
async function installPython(
  { source, manifest, template }: PythonBundle,
  context: InstallContext,
): Promise<PythonInstall> {
  const { name } = source;
  const { args, env, defaults } = template;
  const command = template.runner === 'uv' ? readUvRun(name, args) : undefined;
  const project = command === undefined ? undefined : await projectIn(join(context.folder, BUNDLE), command);
  const python = source.options?.python ?? command?.python ?? rangeOf(manifest, project?.requiresPython);
  const request: PackageSource = {
    kind: 'package',
    scheme: 'uvx',
    name,
    options: python === undefined ? {} : { python },
  };
  const venv = `${inside.package}/${VENV}`;
  const made = await withPython(request, context, async (found) => {
    const call = { python: found, source: request, registriesOnly: true };
    const result = await uv(['venv', '--clear', '--no-project', '--python', found.path, venv], context, call);
    const needed = project?.needed(`${inside.package}/${BUNDLE}`) ?? [];
    if (result.code !== 0 || needed.length === 0) return result;
    return fromWheels(request, context, (build) =>
      uv(['pip', 'install', ...build, '--python', venv, ...needed], context, call),
    );
  });
  if (made.result.code !== 0) throw uvFailure(request, made.result);
  await compileModules(VENV, made.python, context);
  const directory = command === undefined ? BUNDLE : join(BUNDLE, command.directory);
  const start = {
    command: `${VENV}/bin/python`,
    readOnlyPaths: made.python.readOnlyPaths,
    template: { bundle: BUNDLE, directory, args: command?.rest ?? args, env, defaults },
  };
  if (command?.program === undefined) return { ...start, args: [] };
  const path = `${VENV}/bin/${command.program}`;
  const found = await lstat(join(context.folder, path)).catch(() => undefined);
  if (found?.isFile() === true) return { ...start, args: [path] };
  throw unsupported(`the bundle ${name} starts ${command.program} with uv, but no package installs it`, {
    hint: 'ask the author of the bundle to fix its manifest.json',
  });
}

/**
 * The versions of Python that a bundle is for. Only numbers, because they decide which interpreter's folder the server
 * can read.
 */
function rangeOf({ compatibility }: Manifest, required: string | undefined): string | undefined {
  const text = (compatibility.runtimes.python ?? required ?? '').replaceAll(/\s+/g, '');
  const parts = text.split(',').map((part) => part.replace(/^\^/, '>=').replace(/^(?=\d)/, '=='));
  const isRange = parts.every((part) => /^(?:[<>]=?|==|!=|~=)\d+(?:\.\d+){0,2}(?:\.\*)?$/.test(part));
  return isRange ? parts.join(',') : undefined;
}
