import type { IncomingMessage } from 'node:http';

/** Where clients see a listener: the origin, and the path in front of all paths. */
export interface PublicOrigin {
  origin: string;
  prefix: string;
}

const hostPattern = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
const prefixPattern = /^(?:\/[\w.~-]+)+$/;

/**
 * Returns where the client of a request sees the listener. If proxy headers are trusted, a reverse proxy in front says
 * so (`X-Forwarded-Proto`, `X-Forwarded-Host`, and `X-Forwarded-Prefix`). Invalid values are ignored.
 */
export function publicOrigin({ headers }: IncomingMessage, trustProxyHeaders: boolean): PublicOrigin {
  const forwarded = (name: string): string | undefined => {
    const value = trustProxyHeaders ? headers[`x-forwarded-${name}`] : undefined;
    return [value].flat()[0]?.split(',')[0]?.trim();
  };
  const protocol = forwarded('proto') === 'https' ? 'https' : 'http';
  const host = forwarded('host') ?? '';
  const prefix = (forwarded('prefix') ?? '').replace(/\/$/, '');
  return {
    origin: `${protocol}://${hostPattern.test(host) ? host : (headers.host ?? 'localhost')}`,
    prefix: prefixPattern.test(prefix) ? prefix : '',
  };
}
