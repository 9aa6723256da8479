import { constants } from 'node:fs';
import { open, readFile, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, sep } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { readBounded } from '@toolhive/contract/bounded-read';
import { invalid, messageOf, tooLarge } from '@toolhive/contract/failure';

/** Reads the file that the user named in a flag or argument. Errors contain `flag` as the user typed it. */
export async function readText(path: string, flag: string): Promise<string> {
  try {
    return decoded(await readFile(expanded(path)));
  } catch (cause) {
    throw unreadable(path, flag, cause);
  }
}

/**
 * Reads a file that a configuration names, which others may have written. Such a file is inside the directory of the
 * configuration, also behind its links, so that only the user chooses which other files a server gets.
 */
export async function readTextInside(directory: string, path: string, what: string): Promise<string> {
  const failed = (cause: unknown): never => {
    throw unreadable(path, what, cause);
  };
  const root = await realpath(directory).catch(failed);
  const real = await realpath(expanded(path)).catch(failed);
  const isInside = (place: string): boolean => place.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
  const outside = invalid(`the configuration names ${path}, which is outside of ${directory}`, {
    hint: `if the server may get the content of this file, copy the file to ${directory}, or use thv run --env-file`,
  });
  if (!isInside(real)) throw outside;
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  await using file = await open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(failed);
  // Directories on the way may have been replaced by links meanwhile. Where there is no /proc, that is not noticed.
  if (!isInside(await realpath(`/proc/self/fd/${file.fd}`).catch(() => real))) throw outside;
  if (!(await file.stat()).isFile()) throw invalid(`invalid ${what}: ${path} is not a file`);
  const excess = (): Error => tooLarge(`invalid ${what}: ${path} has more than 1 MiB`);
  const bytes = await readBounded(file.createReadStream({ autoClose: false }), mostCharacters, excess);
  return decoded(Buffer.from(bytes.buffer));
}

/** PowerShell and editors of Windows write UTF-16, with a mark at the beginning. */
function decoded(bytes: Buffer): string {
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return isUtf16 ? new TextDecoder(first === 0xff ? 'utf-16le' : 'utf-16be').decode(bytes) : bytes.toString();
}

/** A path in quotes, or from another program, has passed no shell. */
function expanded(path: string): string {
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : path;
}

/** The failure to read a file or directory in a flag. */
export function unreadable(path: string, flag: string, cause: unknown): Error {
  const { code = '' } = cause as NodeJS.ErrnoException;
  return invalid(`invalid ${flag}: cannot read ${path}: ${reasons[code] ?? messageOf(cause)}`, { cause });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'file not found',
  EACCES: 'permission denied',
  EISDIR: 'the path is a directory',
  ENOTDIR: 'the path is not a directory',
};

/** More than any secret or configuration needs. Limits only the memory. */
const mostCharacters = 1024 * 1024;

/** Reads all of standard input. */
export async function readStandardInput(signal: AbortSignal): Promise<string> {
  addAbortSignal(signal, process.stdin);
  process.stdin.setEncoding('utf8');
  let text = '';
  for await (const piece of process.stdin) {
    text += String(piece);
    if (text.length > mostCharacters) throw tooLarge('standard input has more than 1 MiB');
  }
  return text;
}
