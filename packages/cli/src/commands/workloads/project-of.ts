import { homedir } from 'node:os';
import { basename, dirname, resolve } from 'node:path';

/** The names of directories in `.kiro`, `.junie`, `.continue`, and the like. Others can be projects: `.worktrees/fix`. */
const inner = /^(?:settings|mcp|mcp[-_]?servers|copilot|config|agents|rules)$/i;

/** A configuration file's project: the directory around `.vscode` and the like, or else the file's own. */
export function projectOf(file: string): string {
  const own = dirname(resolve(file));
  const places = inner.test(basename(own)) ? [own, dirname(own)] : [own];
  const [settings] = places.filter((place) => /^\.[a-z]/.test(basename(place)));
  const project = settings === undefined || basename(settings) === '.config' ? own : dirname(settings);
  // The files in the home directory belong to all projects.
  return project === homedir() ? process.cwd() : project;
}
