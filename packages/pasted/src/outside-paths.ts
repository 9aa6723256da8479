import { homedir, tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { statsOf } from './stats-of.ts';
import { isInputFile, ownDirectoryOf } from './file-places.ts';
import type { CreateWorkload } from '@toolhive/contract/workload';

/** A local path that a server is told and cannot reach. */
export interface OutsidePath {
  /** Absolute. */
  path: string;
  /** What to mount: the path itself, or the directory of a file that the server writes or creates. */
  place: string;
  isNew: boolean;
  /** Whether the server only reads it, as far as its name tells. */
  isInput: boolean;
  /** Whether it is a file that the server may write, in a directory with other things, so that only the file is mounted. */
  isAlone: boolean;
}

/** The variables that name places for all programs. */
const general = /^(?:PATH|HOME|PWD|SHELL|TMPDIR|TEMP|TMP)$/;

/**
 * The local paths that a server's arguments and variables contain and no mount covers, by their texts: each whole argument,
 * a flag's value (`--db=PATH`), or a variable's value. A relative path is in `directory`, and is left out without one.
 */
export function outsidePaths(
  { cmd_arguments: args, env_vars: variables, volumes }: CreateWorkload,
  { home = homedir(), directory }: { home?: string; directory: string | undefined },
): Map<string, OutsidePath> {
  const targets = (volumes ?? []).map((volume) => volume.split(':')[1] ?? '');
  const isMounted = (path: string) =>
    targets.some((target) => path === target || path.startsWith(`${target}/`));
  const texts = [
    ...namedArguments(args ?? []),
    ...Object.entries(variables ?? {}).filter(([name]) => !general.test(name)),
  ];
  const found = new Map<string, OutsidePath>();
  for (const [name, text] of texts) {
    if (!/^(?:~?\/.|\$HOME\/.|\.{1,2}(?:\/|$))/.test(text) || text.includes('\n')) continue;
    if (text.startsWith('.') && directory === undefined) continue;
    const path = resolve(
      directory ?? '/',
      text.replace(/^(?:~|\$HOME)(?=\/)/, () => home),
    );
    if (isMounted(text) || isMounted(path) || ofSandboxes.test(path)) continue;
    const outside = outsideOf(path, name);
    if (outside !== undefined) found.set(text, outside);
  }
  return found;
}

/** The values of arguments with the names of their flags: `--db=PATH`, or `--db PATH`. */
export function namedArguments(args: readonly string[]): [name: string, value: string][] {
  return args.map((arg, index) => {
    const [, name, value = arg] = /^--?([\w-]+)=(.*)$/s.exec(arg) ?? [];
    const [, before = ''] = /^--?([\w-]+)$/.exec(args[index - 1] ?? '') ?? [];
    return [name ?? before, value];
  });
}

function outsideOf(path: string, name: string): OutsidePath | undefined {
  const stats = statsOf(path);
  if (stats === undefined) {
    const place = folderOfNewFile(path);
    return place === undefined ? undefined : { path, place, isNew: true, isInput: false, isAlone: false };
  }
  const isFile = stats.isFile();
  const isInput = isFile && isInputFile(path, name);
  const directory = isFile && !isInput ? ownDirectoryOf(path) : undefined;
  const isAlone = isFile && !isInput && directory === undefined;
  return { path, place: directory ?? path, isNew: false, isInput, isAlone };
}

/** Why a server may not be able to change a file that is mounted alone, and what to do. */
export const aloneNote = (path: string): string =>
  `a server that replaces ${path} instead of changing it cannot save, because only the file is mounted. If the server writes it, move the file to a directory of its own, and name it there`;

/** Every sandbox and container has its own copies of these. */
const ofSandboxes = /^\/(?:(?:dev|proc|sys|usr|bin|sbin|lib\w*|etc\/ssl)(?:\/|$)|tmp\/?$)/;

/**
 * The directory in which a server would create a file, such as a database. Not one that holds everything of the user or
 * that exists separately in every sandbox.
 */
function folderOfNewFile(path: string): string | undefined {
  const folder = dirname(path);
  const isShared = [
    '/',
    '/home',
    '/etc',
    '/usr',
    '/var',
    '/root',
    '/Users',
    homedir(),
    tmpdir(),
    '/tmp',
    '/data',
    '/dev',
    '/opt',
  ].includes(folder);
  return !isShared && /\.[A-Za-z]\w{0,9}$/.test(path) && statsOf(folder)?.isDirectory() === true
    ? folder
    : undefined;
}
