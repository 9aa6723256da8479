import { type ThvError, unsupported } from '@toolhive/contract/failure';
import { openInner } from '../../inner-file.ts';
import { type PackageSource, formatSource } from '../../source.ts';

/** Larger than any manifest that is not an attack. */
const MANIFEST_LIMIT = 16 * 1024 * 1024;

/**
 * Reads the start of a file in a package, up to `limit` bytes. The package's author controls the file, which may be a
 * link out of the package, an endless pipe, or larger than the memory.
 */
export async function readPackageFile(
  folder: string,
  path: string,
  limit = MANIFEST_LIMIT,
): Promise<Buffer | undefined> {
  await using file = await openInner(folder, path);
  if (file === undefined) return undefined;
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, limit)), 0);
  return buffer.subarray(0, bytesRead);
}

/** Reads a JSON file in a package. Returns undefined if the file is not valid JSON. */
export async function readPackageJson(folder: string, path: string): Promise<unknown> {
  const content = await readPackageFile(folder, path);
  if (content === undefined) return undefined;
  try {
    return JSON.parse(content.toString());
  } catch {
    return undefined;
  }
}

/**
 * Throws `unsupported` unless the package contains the program that it names. Returns the start of the program file.
 */
export async function requireProgramFile(
  name: string,
  folder: string,
  path: string,
  hint = 'try another version of the package, or report this to its author',
): Promise<Buffer> {
  const beginning = await readPackageFile(folder, path, 128);
  if (beginning !== undefined) return beginning;
  throw unsupported(`package ${name} names the program ${JSON.stringify(path)}, but does not contain it`, {
    hint,
  });
}

/** A package of which no program is the server, because it has several, or not the one that the source names. */
export function severalPrograms(source: PackageSource, programs: readonly string[]): ThvError {
  const { name, program, version: _version, ...rest } = source;
  const example = formatSource({ ...rest, name, program: likelyServer(name, programs) });
  return unsupported(
    program === undefined
      ? `package ${name} has several programs and none is called ${name.replace(/^@[^/]*\//, '')}`
      : `package ${name} has no program ${program}`,
    { hint: `the package has ${programs.join(', ')}. Choose one, for example ${example}` },
  );
}

/** The program that is named like a server, or else like its package, and seldom one that prepares something. */
function likelyServer(name: string, programs: readonly string[]): string {
  const lastWord = (words: string): string =>
    words
      .toLowerCase()
      .split(/[-_./]/)
      .at(-1) ?? '';
  return (
    programs.find((one) => /^(?:mcp|server)$/.test(lastWord(one))) ??
    programs.find((one) => lastWord(one) === lastWord(name)) ??
    programs.find((one) => !preparations.test(lastWord(one))) ??
    programs.at(0) ??
    'NAME'
  );
}

const preparations = /^(?:auth|cli|config|configure|doctor|init|install|installer|login|setup|uninstall)$/;

/** The name of a package on npm. */
export const npmName = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/i;

/** A string field of an untrusted object. Undefined if it is missing or not a string. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
