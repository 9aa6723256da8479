import { isLoopback } from '@toolhive/contract/loopback';

/** A URL from a configuration or a server. Undefined if it is invalid or contains a password or a fragment. */
export function parseUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '') return undefined;
  return url;
}

/** Whether tokens and codes may be sent to a URL: only with encryption, or on loopback. */
export function isSafe(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** A URL for messages: without the query, which may contain private data. */
export function nameOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/** A path or a URL without a slash at the end. */
export function slashless(text: string): string {
  return text.replace(/\/$/, '');
}
