import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { notFound } from '@toolhive/contract/failure';
import { goProgram } from './installed-go.ts';
import { nodeProgram, packagedScript } from './installed-node.ts';
import { moduleOf, pythonProgram } from './installed-python.ts';
import type { Program } from './installed-owner.ts';
import { absolutePath } from './paths.ts';
import type { Pasted, PastedFrom } from './pasted.ts';

const beginningBytes = 8_192;

/**
 * Translates the path or name of a program that npm, pip, uv, pipx, or go has installed on this machine. ToolHive installs
 * the same version of its package itself, or copies its directory if the program runs from there. Undefined for anything
 * else. The package is a statement of files that the user's own program consists of, and it runs in isolation.
 */
export async function readInstalled(
  [word = '', ...args]: readonly string[],
  from: Pick<PastedFrom, 'directory' | 'env' | 'searchPath'>,
): Promise<Pasted | undefined> {
  const path = programAt(word, from);
  if (path !== undefined) return readInstalledAt([path, ...args]);
  if (!isName(word) || foldersOf(from).length === 0) return undefined;
  throw notFound(`the program ${JSON.stringify(word)} was not found`, {
    hint: 'specify its path or its package, for example with npx or uvx',
  });
}

/** The same for an absolute path. */
export async function readInstalledAt([path = '', ...args]: readonly string[]): Promise<Pasted | undefined> {
  const program = await openProgram(behindShim(path));
  const owner =
    packagedScript(path) ??
    (program && (nodeProgram(program) ?? (await pythonProgram(program)) ?? (await goProgram(program))));
  if (owner === undefined) return undefined;
  return {
    request: { image: owner.image, cmd_arguments: args },
    notes: [`${path} is a program of ${owner.text}, which ToolHive installs itself`],
  };
}

/** `python -m MODULE`, where a package that this Python has installed contains the module. */
export async function readInstalledModule(
  python: string,
  [module = '', ...args]: readonly string[],
  from: Pick<PastedFrom, 'directory' | 'env' | 'searchPath'>,
): Promise<Pasted | undefined> {
  const interpreter = programAt(python, from);
  const owner = interpreter === undefined ? undefined : await moduleOf(module, interpreter);
  if (owner === undefined) return undefined;
  return {
    request: { image: owner.image, cmd_arguments: ['-m', module, ...args] },
    notes: [`the module ${module} belongs to ${owner.text}, which ToolHive installs itself`],
  };
}

/** Whether a word is a path or a name, and not one that only a shell understands. */
const isPath = (word: string): boolean => /^(?:\.{0,2}|~)\//.test(word);

const isName = (word: string): boolean => /^\w[\w.+-]*$/.test(word);

/** Finds the file that a shell would run. */
function programAt(
  word: string,
  from: Pick<PastedFrom, 'directory' | 'env' | 'searchPath'>,
): string | undefined {
  if (isPath(word)) {
    if (from.directory === undefined && !word.startsWith('/') && !word.startsWith('~')) return undefined;
    const path = absolutePath(word, from);
    if (!existsSync(path))
      throw notFound(`${path} not found`, { hint: 'check the path, or use a published package' });
    return isProgram(path) ? path : undefined;
  }
  if (!isName(word)) return undefined;
  return foldersOf(from)
    .map((folder) => join(folder, word))
    .find(isProgram);
}

/** The directories in which a name is looked for. An entry can have its own `PATH`, in which its client looks first. */
function foldersOf({ env, searchPath }: Pick<PastedFrom, 'env' | 'searchPath'>): string[] {
  return [env['PATH'], searchPath]
    .flatMap((path) => path?.split(':') ?? [])
    .filter((folder) => folder.startsWith('/'));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // another program with this name can follow
  }
}

/** Version managers put a program that looks for the real one in front of it: `~/.pyenv/shims/NAME`. */
function behindShim(path: string): string {
  const [, root, name = ''] = /^(.+)\/shims\/([^/]+)$/.exec(path) ?? [];
  if (root === undefined) return path;
  const versions = foldersIn(join(root, 'versions')); // pyenv, nodenv
  const installs = foldersIn(join(root, 'installs')).flatMap(foldersIn); // asdf, mise
  const found = [...versions, ...installs].map((folder) => join(folder, 'bin', name)).filter(isProgram);
  return found.at(-1) ?? path;
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    return []; // no such directory
  }
}

async function openProgram(path: string): Promise<Program | undefined> {
  if (!isProgram(path)) return undefined;
  await using file = await open(path).catch(() => undefined); // can be executable and not readable
  if (file === undefined) return undefined;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(beginningBytes), 0, beginningBytes, 0);
  const real = await realpath(path).catch(() => path); // may have been replaced meanwhile
  return { path, real, beginning: buffer.toString('latin1', 0, bytesRead) };
}
