import { invalid } from '@toolhive/contract/failure';
import { listedRequirements } from '@toolhive/contract/listed-requirements';
import { PrereleaseMode } from '@toolhive/contract/prerelease';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { type OtherFlags, valuesOf } from './other-flags.ts';
import { absolutePath } from './paths.ts';
import type { PastedFrom } from './pasted.ts';
import { requirementsIn } from './requirements-file.ts';

export type PythonSettings = Pick<
  CreateWorkload,
  'python_with' | 'python_version' | 'python_exclude_newer' | 'python_prerelease'
>;

/** What the flags of uv say about packages and Python. */
export async function pythonSettings(given: OtherFlags['given'], from: PastedFrom): Promise<PythonSettings> {
  const files = await Promise.all(
    valuesOf(given, '--with-requirements').map((file) => readRequirements(file, from)),
  );
  const others = [...valuesOf(given, '-w', '--with').flatMap(listedRequirements), ...files.flat()];
  const python = valuesOf(given, '-p', '--python').at(-1);
  const until = valuesOf(given, '--exclude-newer').at(-1);
  const prerelease = prereleaseOf(given);
  return {
    ...(others.length === 0 ? {} : { python_with: others }),
    ...(python === undefined ? {} : { python_version: pythonVersion(python) }),
    ...(until === undefined ? {} : { python_exclude_newer: until }),
    ...(prerelease === undefined ? {} : { python_prerelease: prerelease }),
  };
}

async function readRequirements(file: string, from: PastedFrom): Promise<string[]> {
  const path = absolutePath(file, from);
  const { requirements, others } = requirementsIn(await from.readFile(path));
  const [line] = others;
  if (line === undefined) return requirements;
  throw invalid(`line ${line} in ${path} is not a package with its versions`, {
    hint: 'name each package in the file, without options, paths, and URLs',
  });
}

/** The package in a requirement: `mcp` in `mcp[cli]>=1`. */
export function requirementName(requirement: string): string {
  return /^[\w.-]+/.exec(requirement)?.[0] ?? requirement;
}

/** The old spelling `--pre` allows them all. */
function prereleaseOf(given: OtherFlags['given']): PrereleaseMode | undefined {
  const mode = given.findLast(([flag]) => flag === '--prerelease' || flag === '--pre');
  if (mode === undefined) return undefined;
  const read = PrereleaseMode.safeParse(mode[0] === '--pre' ? 'allow' : mode[1]);
  if (read.success) return read.data;
  throw invalid(`${JSON.stringify(mode[1])} is not a value of --prerelease`, {
    hint: `use one of ${PrereleaseMode.options.join(', ')}`,
  });
}

/**
 * The version from the forms that uv and pipx accept: `3.12`, `python3.12`, `cpython@3.12`, or an interpreter's path.
 */
function pythonVersion(request: string): string {
  const version = /^(?:\S*\/)?(?:(?:c?python)[@-]?)?(\d+(?:\.\d+){0,2})$/.exec(request)?.[1];
  if (version !== undefined) return version;
  throw invalid(`${JSON.stringify(request)} is not a Python version`, {
    hint: 'use a version such as 3.12, for example --python 3.12',
  });
}

/** Python considers dots, dashes, and underscores the same (PEP 503). */
export function sameName(one: string, other: string): boolean {
  const normalized = (text: string) => text.toLowerCase().replaceAll(/[-_.]+/g, '-');
  return normalized(one) === normalized(other);
}
