import { unsupported } from '@toolhive/contract/failure';
import { openInner } from '../../inner-file.ts';

/** Larger than any manifest that is not an attack. */
const MANIFEST_LIMIT = 16 * 1024 * 1024;

/**
 * Reads the beginning of a file that a package brought along, up to `limit` bytes. Its author decides what is there:
 * a link out of the package, a pipe that never ends, a file that fills the memory.
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

/** Reads a JSON file of a package; undefined if it is none. */
export async function readPackageJson(folder: string, path: string): Promise<unknown> {
  const content = await readPackageFile(folder, path);
  if (content === undefined) return undefined;
  try {
    return JSON.parse(content.toString());
  } catch {
    return undefined;
  }
}

/** Throws `unsupported` unless the package contains the program that it names. Returns the beginning of the file. */
export async function requireProgramFile(
  name: string,
  folder: string,
  path: string,
  hint = 'try another version of the package, or report this to its author',
): Promise<Buffer> {
  const beginning = await readPackageFile(folder, path, 128);
  if (beginning !== undefined) return beginning;
  throw unsupported(`package ${name} names the program ${JSON.stringify(path)}, which it does not contain`, {
    hint,
  });
}

/** A field of an object that somebody else wrote; undefined if it is none. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}
