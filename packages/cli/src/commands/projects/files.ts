import { existsSync } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { invalid, notFound } from '@toolhive/contract/failure';
import { maxProjectFile, maxProjectLock } from '@toolhive/contract/project';
import { unreadable } from '../../read-text.ts';

/** The project files, the most specific first. */
const usual = [
  'toolhive.yaml',
  'toolhive.yml',
  '.mcp.json',
  '.vscode/mcp.json',
  '.cursor/mcp.json',
  'mcp.json',
];

/** The usual project files in the current directory, whether they exist or not. */
export async function usualPaths(): Promise<string[]> {
  const here = await realpath(process.cwd());
  return usual.map((name) => join(here, name));
}

/** The path that identifies a project. The file itself may be gone. */
export async function projectPath(word: string): Promise<string> {
  const path = resolve(word);
  const directory = await realpath(dirname(path)).catch((cause: unknown) => {
    throw unreadable(word, 'FILE', cause);
  });
  return join(directory, basename(path));
}

/** The project file in the current directory. */
export async function findProjectFile(): Promise<string> {
  const [found] = (await usualPaths()).filter((path) => existsSync(path));
  if (found !== undefined) return found;
  throw notFound(`no project file found in ${process.cwd()}`, {
    hint: `name a file, or write one with thv export --format project > toolhive.yaml`,
  });
}

/** Whether a word is a file rather than the name of a server. */
export const isFileWord = (word: string): boolean =>
  /[/\\]|\.(?:ya?ml|jsonc?)$/i.test(word) || existsSync(word);

/** The lock file of a project. Other files beside a toolhive.yaml have their own. */
export function lockPathOf(path: string): string {
  const own = dirname(path);
  const directory = /^\.[a-z]/i.test(basename(own)) ? dirname(own) : own;
  const isMain =
    /^toolhive\.ya?ml$/.test(basename(path)) ||
    !['yaml', 'yml'].some((end) => existsSync(join(directory, `toolhive.${end}`)));
  return isMain
    ? join(directory, 'toolhive.lock')
    : join(directory, `${basename(path).replace(/\.\w+$/, '')}.lock`);
}

export const readProject = (path: string): Promise<string> => read(path, 'FILE', maxProjectFile);

/** Undefined without a lock file. */
export async function readLock(path: string): Promise<string | undefined> {
  return existsSync(path) ? read(path, 'lock file', maxProjectLock) : undefined;
}

async function read(path: string, what: string, limit: number): Promise<string> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw invalid(`invalid ${what}: ${path} is not a file`);
    if (found.size > 2 * limit) throw invalid(`invalid ${what}: ${path} has more than ${limit} characters`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause) throw unreadable(path, what, cause);
    throw cause;
  }
}

/** The variables of the user that a text names. The daemon gives servers only those that their entry refers to. */
export function variablesIn(text: string): Record<string, string> {
  const words = new Set(text.match(/[A-Za-z_]\w*/g));
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (words.has(name) && value ? [[name, value]] : [])),
  );
}
