import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { conflict, messageOf } from '@toolhive/contract/failure';
import type { RunConfig } from '@toolhive/contract/run-config';
import ignore from 'ignore';
import type { StatePaths } from '@toolhive/state/paths';

/** Decides about a path relative to the mounted directory. */
export type IgnoreRules = (path: string, isDirectory: boolean) => boolean;

/** The name of the ignore file of a mounted directory. */
export const localIgnoreFile = '.thvignore';

const MAX_BYTES = 256 * 1024;
const MAX_LINES = 1_000;
/**
 * Patterns become regular expressions, whose time can grow with the length of a name to the power of this. A server may
 * have written both the pattern and the name.
 */
const MAX_WILDCARDS = 3;

/** The user's ignore file, unless the run config excludes it. */
export function ignoreFileOf(
  { ignore_config: config }: Pick<RunConfig, 'ignore_config'>,
  { ignoreFile }: Pick<StatePaths, 'ignoreFile'>,
): string | undefined {
  return config?.loadGlobal === false ? undefined : ignoreFile;
}

/** Reads the user's ignore file. Undefined if it does not exist. Throws `conflict` if it cannot be applied. */
export async function readGlobalRules(path: string): Promise<IgnoreRules | undefined> {
  try {
    const text = await readText(path, 0);
    return text === undefined ? undefined : rulesOf(text);
  } catch (cause) {
    throw conflict(`the ignore file ${path} cannot be applied: ${messageOf(cause)}`, {
      hint: 'fix the file, or exclude it with --ignore-globally=false',
      cause,
    });
  }
}

/**
 * Reads the ignore file of a mounted directory, which a server may be able to write. Does not follow links. Returns
 * undefined if the file does not exist, and throws the reason if it cannot be applied.
 */
export async function readLocalRules(directory: string): Promise<IgnoreRules | undefined> {
  const text = await readText(`${directory}/${localIgnoreFile}`, constants.O_NOFOLLOW);
  return text === undefined ? undefined : rulesOf(text);
}

function rulesOf(text: string): IgnoreRules {
  const lines = text.normalize('NFC').split(/\r?\n/);
  const count = lines.filter((line) => line.trim() !== '' && !line.startsWith('#')).length;
  if (count > MAX_LINES) throw new Error(`the file has more than ${MAX_LINES} patterns`);
  for (const [index, line] of lines.entries()) {
    const wildcards = line.match(/\*+/g)?.length ?? 0;
    if (!line.startsWith('#') && wildcards > MAX_WILDCARDS)
      throw new Error(`the pattern in line ${index + 1} has more than ${MAX_WILDCARDS} wildcards`);
  }
  // Names that differ in case or in the form of an accent are one name on some file systems.
  const rules = ignore({ ignorecase: true }).add(lines);
  return (path, isDirectory) => rules.ignores(`${path.normalize('NFC')}${isDirectory ? '/' : ''}`);
}

async function readText(path: string, flags: number): Promise<string | undefined> {
  // Opening a pipe must not block.
  const opened = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | flags).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error.code === 'ELOOP' ? new Error('the path is a symbolic link') : error;
    },
  );
  await using file = opened;
  if (file === undefined) return undefined;
  const found = await file.stat();
  if (!found.isFile()) throw new Error('not a regular file');
  if (found.size > MAX_BYTES) throw new Error(`the file is larger than ${MAX_BYTES / 1024} KiB`);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
  return buffer.toString('utf8', 0, bytesRead);
}
