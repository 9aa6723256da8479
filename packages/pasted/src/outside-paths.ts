import { existsSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { CreateWorkload } from '@toolhive/contract/workload';

/** A local path that a server is told and cannot reach. */
export interface OutsidePath {
  /** Absolute. */
  path: string;
  /** The path itself, or the directory of a file that does not exist yet. */
  place: string;
  isNew: boolean;
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
    ...(args ?? []).map((arg) => arg.replace(/^--?[\w-]+=/, '')),
    ...Object.entries(variables ?? {}).flatMap(([name, value]) => (general.test(name) ? [] : [value])),
  ];
  const found = new Map<string, OutsidePath>();
  for (const text of texts) {
    if (!/^(?:~?\/.|\$HOME\/.|\.{1,2}(?:\/|$))/.test(text) || text.includes('\n')) continue;
    if (text.startsWith('.') && directory === undefined) continue;
    const path = resolve(
      directory ?? '/',
      text.replace(/^(?:~|\$HOME)(?=\/)/, () => home),
    );
    if (isMounted(text) || isMounted(path) || ofSandboxes.test(path)) continue;
    const isNew = !existsSync(path);
    const place = isNew ? folderOfNewFile(path) : path;
    if (place !== undefined) found.set(text, { path, place, isNew });
  }
  return found;
}

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
  return !isShared && /\.[A-Za-z]\w{0,9}$/.test(path) && existsSync(folder) ? folder : undefined;
}
