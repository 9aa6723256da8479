import { invalid } from '@toolhive/contract/failure';
import { formatGit, fragmentText, isGitSpec, parseGit } from '@toolhive/contract/git-source';

/**
 * The package URL of a package in the notation of npx or uvx: a name with a version, extras, or version limits, or a Git
 * repository. `program` is the program that the command names besides the package.
 */
export function packageImage(scheme: 'npx' | 'uvx', spec: string, program: string | undefined): string {
  const named = program?.replace(/\.(?:exe|cmd)$/i, '');
  if (isGitSpec(spec)) return `${scheme}://${formatGit(parseGit(spec), checked(named, spec))}`;
  if (/^[a-z][a-z0-9+.-]*:|:\/\//i.test(spec)) {
    throw invalid(`${JSON.stringify(spec)} is not a published package`, {
      hint: `use the name of the package in its package registry: thv run ${scheme}://NAME`,
    });
  }
  const { name, rest } = scheme === 'npx' ? npmSpec(spec) : pythonSpec(spec);
  const isOwn = named === undefined || isNamedLike(scheme, named, name);
  const fragment = fragmentText({ program: isOwn ? undefined : checked(named, spec) });
  return `${scheme}://${name}${rest}${fragment}`;
}

/** A program is the name of a command. A path in the package's source code is not one. */
function checked(program: string | undefined, spec: string): string | undefined {
  if (program === undefined || /^[\w][\w.-]*$/.test(program)) return program;
  throw invalid(`${JSON.stringify(program)} is not the name of a program of ${spec}`, {
    hint: 'use the name of a command that the package installs, for example from [project.scripts] or bin',
  });
}

function npmSpec(spec: string): { name: string; rest: string } {
  const at = spec.indexOf('@', 1);
  return at === -1 ? { name: spec, rest: '' } : { name: spec.slice(0, at), rest: spec.slice(at) };
}

/** `NAME[EXTRAS]==1.0`, `NAME>=1,<2`, and `NAME@1.0`. */
function pythonSpec(spec: string): { name: string; rest: string } {
  const [, name = spec, extras = '', limit = ''] =
    /^\s*([\w.-]+)\s*(\[[^\]]*\])?\s*@?\s*(.*?)\s*$/s.exec(spec) ?? [];
  const version = limit.replaceAll(/\s+/g, '').replace(/^={2,3}(?=[^*,]+$)/, '');
  return { name, rest: `${extras.replaceAll(/\s+/g, '')}${version === '' ? '' : `@${version}`}` };
}

/** Python considers dots, dashes, and underscores the same (PEP 503). */
function isNamedLike(scheme: 'npx' | 'uvx', program: string, name: string): boolean {
  if (scheme === 'npx') return program === name.replace(/^@[^/]*\//, '');
  const normalized = (text: string) => text.toLowerCase().replaceAll(/[-_.]+/g, '-');
  return normalized(program) === normalized(name);
}
