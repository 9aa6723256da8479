import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Where package managers put the programs that a user installs, below the home directory. */
const ofUser = [
  '.local/bin',
  '.npm-global/bin',
  '.npm-packages/bin',
  '.volta/bin',
  '.bun/bin',
  '.yarn/bin',
  '.local/share/pnpm',
  'Library/pnpm',
  'go/bin',
  '.pyenv/shims',
  '.nodenv/shims',
  '.asdf/shims',
  '.local/share/mise/shims',
];
const ofMachine = ['/opt/homebrew/bin', '/home/linuxbrew/.linuxbrew/bin', '/usr/local/bin'];

/** One directory for each version of Node.js. */
const ofVersions: readonly [place: string, bin: string][] = [
  ['.nvm/versions/node', 'bin'],
  ['.local/share/fnm/node-versions', 'installation/bin'],
];

/**
 * The directories in which a user's clients find installed programs by name, separated as in `PATH`: the given ones,
 * and those that the user's shell usually adds. A daemon that a service manager or an earlier shell has started does
 * not have them.
 */
export function usualSearchPath(...given: readonly (string | undefined)[]): string {
  const home = homedir();
  const versions = ofVersions.flatMap(([place, bin]) =>
    newestFirst(join(home, place)).map((version) => join(home, place, version, bin)),
  );
  const usual = [...ofUser.map((folder) => join(home, folder)), ...versions, ...ofMachine];
  return [...given.filter((path) => path !== undefined && path !== ''), ...usual].join(delimiter);
}

function newestFirst(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  } catch {
    return []; // this version manager is not used
  }
}
