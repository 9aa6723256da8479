import { resolve } from 'node:path';

/** What a person wants to run: the URL of a remote server, or anything that the daemon can look up. */
export function sourceOf(word: string): { url: string } | { image: string } {
  if (/^https?:\/\//i.test(word)) return { url: word };
  // The daemon has a working directory of its own, so paths are made absolute here.
  const [, path] = /^go:\/\/(\.{1,2}(?:\/.*)?)$/.exec(word) ?? [];
  return { image: path === undefined ? word : `go://${resolve(path)}` };
}
