import { realpathSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import type { CreateWorkload } from '@toolhive/contract/workload';
import { invalid } from '@toolhive/contract/failure';
import { isInputFile, ownDirectoryOf } from '@toolhive/pasted/file-places';
import { statsOf } from '@toolhive/pasted/stats-of';
import { namedArguments } from '@toolhive/pasted/outside-paths';
import { absolutePath } from '@toolhive/pasted/paths';

/** Where relative paths start. */
export interface Base {
  home: string;
  /** The directory of the project, if the entry is for one. */
  directory: string | undefined;
  /** Whether others may have written the entry. */
  isShared: boolean;
}

/**
 * The request with a mount for each existing path in its arguments and variables, because the original command could use
 * them. A file that the server may write is mounted with its directory if that is the place of such files, because servers
 * replace files. The configuration of a project can come from others, so its paths must be in the project, and only they
 * are mounted. Throws `invalid`.
 */
export function withMounts(request: CreateWorkload, base: Base): CreateWorkload {
  const { cmd_arguments: args, env_vars: variables, volumes } = request;
  if (request.url !== undefined) return request;
  const mounted = (volumes ?? []).map((volume) => volume.split(':')[1] ?? '');
  const added = new Map<string, string>();
  const mountOf = (name: string, text: string): string => {
    const path = pathIn(text, base);
    if (path === undefined) return text;
    if ([...mounted, ...added.keys()].some((target) => isInside(path, target))) return path;
    if (base.isShared && !isInside(realpathSync(path), realpathSync(base.directory ?? ''))) {
      throw invalid(`the configuration of the project names ${path}, which is outside the project`, {
        hint: `to grant the access yourself, use thv run with --volume ${path}:${path}`,
      });
    }
    const isFile = statsOf(path)?.isFile() === true;
    const isInput = isFile && isInputFile(path, name);
    const own = isFile && !isInput && !base.isShared ? ownDirectoryOf(path) : undefined;
    const place = own ?? path;
    added.set(place, `${place}:${place}${isInput ? ':ro' : ''}`);
    return path;
  };
  const named = namedArguments(args ?? []);
  const texts = (args ?? []).map((arg, index) => {
    const [name, value] = named[index] ?? ['', arg];
    return arg.slice(0, arg.length - value.length) + mountOf(name, value);
  });
  const given = Object.entries(variables ?? {}).map(([name, value]) => [name, mountOf(name, value)]);
  return {
    ...request,
    ...(args ? { cmd_arguments: texts } : {}),
    ...(variables ? { env_vars: Object.fromEntries(given) as Record<string, string> } : {}),
    ...(added.size > 0 ? { volumes: [...(volumes ?? []), ...added.values()] } : {}),
  };
}

/** The existing file or directory that a text names. Undefined for other texts. */
function pathIn(text: string, { home, directory }: Base): string | undefined {
  if (!/^(?:~?\/.|\.{1,2}(?:\/|$)|\$HOME\/)/.test(text) || text.includes('\n')) return undefined;
  if (text.startsWith('.') && directory === undefined) return undefined;
  const expanded = text.replace(/^(?:~|\$HOME)(?=\/)/, home);
  const path = absolutePath(expanded, { directory });
  const found = statsOf(path);
  return found?.isFile() === true || found?.isDirectory() === true ? path : undefined;
}

function isInside(path: string, directory: string): boolean {
  const rest = relative(directory, path);
  return rest === '' || (!rest.startsWith('..') && !isAbsolute(rest));
}
