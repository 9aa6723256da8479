import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { invalid, notFound } from '@toolhive/contract/failure';
import { isExamplePath } from './examples.ts';
import type { PastedFrom } from './pasted.ts';
import { hasPlaceholder } from './placeholders.ts';

const home = /^(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|%HOME%|\$(?:env:)?USERPROFILE|\$env:HOME)(?=[/\\]|$)/i;
const here = /^(?:\$\(pwd\)|`pwd`|\$\{?PWD\}?|%CD%)(?=[/\\]|$)/i;
/** What only a shell replaces, with a value that is not known here. */
const forShell = /^(?:~[\w.-]+|\$\([^)]*\)|\$(?:env:)?\w+|%\w+%|`[^`]*`)(?=[/\\]|$)/;

/** The path with the home directory and the directory of the project instead of their forms for a shell. */
export function withPlaces(path: string, { directory }: Pick<PastedFrom, 'directory'>): string {
  const expanded = path.replace(home, () => homedir());
  return directory === undefined ? expanded : expanded.replace(here, () => directory);
}

/** Throws `not-found` for a Windows path on another system, which would read it as a name in a directory. */
export function refuseWindowsPath(path: string): void {
  if (!/^[A-Za-z]:[\\/]/.test(path) || process.platform === 'win32') return;
  throw notFound(`${path} is a Windows path, and this machine has none`, {
    hint: 'name the path on this machine, or use a published package',
  });
}

/** `<your path>/index.js`, `{path}/index.js` */
const isTemplate = (path: string): boolean => /<[^<>]+>|\{[\w ]+\}/.test(path) && !existsSync(path);

/** A path as a shell would read it, because no shell has read the configuration of a client. Throws without a directory. */
export function absolutePath(path: string, { directory }: Pick<PastedFrom, 'directory'>): string {
  const expanded = withPlaces(path, { directory }).replace(here, '.');
  if (hasPlaceholder(expanded) || isExamplePath(expanded) || isTemplate(expanded)) {
    throw invalid(`the path ${expanded} is a placeholder`, {
      hint: 'replace it with the path on your machine',
    });
  }
  const [place] = forShell.exec(expanded) ?? [];
  if (place !== undefined) {
    throw invalid(`the path ${path} begins with ${place}, which only a shell replaces`, {
      hint: 'replace it with the path on your machine',
    });
  }
  if (expanded.startsWith('/')) return resolve(expanded);
  refuseWindowsPath(expanded);
  if (directory === undefined) {
    throw invalid(`the path ${path} is relative, and the directory of the configuration is not known`, {
      hint: 'use an absolute path, or run thv import FILE with the file that contains the configuration',
    });
  }
  return resolve(directory, expanded);
}

/** Whether a path leads out of a directory, or to the directory itself. Both are absolute. */
export function isOutside(directory: string, path: string): boolean {
  const inside = relative(directory, path);
  return inside === '' || isAbsolute(inside) || inside.split(sep)[0] === '..';
}
