import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { invalid } from '@toolhive/contract/failure';
import { pageAddress } from '@toolhive/contract/page-address';
import { resolve } from 'node:path';

/** What a person wants to run: the URL of a remote server, or anything that the daemon can look up. */
export function sourceOf(word: string): { url: string } | { image: string } {
  if (/^https?:\/\//i.test(word)) {
    const page = pageAddress(word);
    if (page !== undefined) throw invalid(page.problem, { hint: page.hint });
    return { url: word };
  }
  const local = localPackage(word);
  return { image: local === undefined ? word : `${local.scheme}://${local.path}${local.fragment}` };
}

const bundleWord = /^(?:mcpb:\/\/.*|[^]*\.(?:mcpb|dxt)(?:[?#].*)?)$/i;

/**
 * A bundle: `./server.mcpb`, `~/server.dxt`, `file:///server.mcpb`, `https://host/server.mcpb`, `mcpb://…`. Undefined for
 * another word. The hash stays, so that other content is refused.
 */
export function bundleSource(word: string): string | undefined {
  if (!bundleWord.test(word)) return undefined;
  const [, text = '', hash = ''] = /^(?:mcpb:\/\/)?(.*?)(@sha256-[0-9a-f]{64})?$/is.exec(word) ?? [];
  if (/^https?:\/\//i.test(text)) return `mcpb://${text.replace(/#.*$/, '')}${hash}`;
  if (!/^file:/i.test(text)) return `mcpb://${resolve(expanded(text))}${hash}`;
  try {
    return `mcpb://${fileURLToPath(text)}${hash}`;
  } catch {
    throw invalid(`${text} is not the URL of a file on this machine`, { hint: 'use the path of the file' });
  }
}

/** A path with the user's home directory. */
export const expanded = (path: string): string => path.replace(/^(?:~|\$HOME)(?=\/|$)/, homedir());

export interface LocalPackage {
  scheme: 'npx' | 'uvx' | 'go';
  path: string;
  /** `#program=NAME`, or empty. */
  fragment: string;
}

/**
 * A local package: `npx://./dir`, `uvx:///dir/server.py`, `go://~/dir`. The daemon has a different working directory,
 * so the path becomes absolute here. Removes the version that `thv list` shows.
 */
export function localPackage(word: string): LocalPackage | undefined {
  const found =
    /^(npx|uvx|go):\/\/(\.{1,2}(?:\/.*)?|~?\/.*?)(?:@local-[0-9a-f]{16})?(?:#program=([\w.-]+))?$/.exec(word);
  if (found === null) return undefined;
  const [, scheme, path = '', program] = found;
  const absolute = resolve(path.replace(/^~(?=\/)/, homedir()));
  const fragment = program === undefined ? '' : `#program=${program}`;
  return { scheme: scheme as LocalPackage['scheme'], path: absolute, fragment }; // the pattern allows only these
}
