import { homedir } from 'node:os';
import { resolve } from 'node:path';

/** What a person wants to run: the URL of a remote server, or anything that the daemon can look up. */
export function sourceOf(word: string): { url: string } | { image: string } {
  if (/^https?:\/\//i.test(word)) return { url: word };
  const local = localPackage(word);
  return { image: local === undefined ? word : `${local.scheme}://${local.path}` };
}

/**
 * A local package: `npx://./dir`, `uvx:///dir/server.py`, `go://~/dir`. The daemon has a different working directory,
 * so the path becomes absolute here. Removes the version that `thv list` shows.
 */
export function localPackage(word: string): { scheme: 'npx' | 'uvx' | 'go'; path: string } | undefined {
  const found = /^(npx|uvx|go):\/\/(\.{1,2}(?:\/.*)?|~?\/.*?)(?:@local-[0-9a-f]{16})?$/.exec(word);
  if (found === null) return undefined;
  const [, scheme, path = ''] = found;
  const absolute = resolve(path.replace(/^~(?=\/)/, homedir()));
  return { scheme: scheme as 'npx' | 'uvx' | 'go', path: absolute }; // the pattern allows only these
}
