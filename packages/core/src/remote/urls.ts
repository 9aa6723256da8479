import { isLoopback } from '@toolhive/contract/loopback';

/** An address that somebody wrote down; undefined if it is none, or has a password or a fragment in it. */
export function parseUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return undefined;
  return url;
}

/** May tokens and codes go there? They cross the network in the clear otherwise; on loopback there is no network. */
export function isSafe(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** An address for a message: without the query, which may hold what is nobody else's business. */
export function nameOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
