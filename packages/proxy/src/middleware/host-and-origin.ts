import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { replyText } from '../http/reply.ts';
import type { Middleware } from './middleware.ts';

/**
 * Refuses requests that a web page made the browser send: those to a host name that is not ours (DNS rebinding), those
 * from an origin that is not on this machine (MCP 2025-11-25, Transports, Security Warning), and those without an origin,
 * as for pictures, which servers could take for an order.
 */
export function hostAndOrigin({
  allowedHosts,
  listsHost,
  ownOriginOnly,
  allowedOrigins = [],
}: HostAndOriginOptions): Middleware {
  const origins = new Set(allowedOrigins);
  const isAllowed = hostRule(allowedHosts);
  const isOurs = (host: string, localAddress?: string): boolean =>
    listsHost === undefined
      ? isAllowed(host) || isDialled(host, localAddress)
      : listsHost(host.replace(portSuffix, ''));
  const isTrusted = (origin: string, host: string): boolean =>
    ownOriginOnly === true
      ? hostOfOrigin(origin).toLowerCase() === host.toLowerCase()
      : isAllowed(hostOfOrigin(origin));
  return {
    request({ request, response, relayed }, next) {
      if (relayed !== undefined) return next(); // the API has checked this
      const { host, origin } = request.headers;
      if (host === undefined || !isOurs(host, request.socket.localAddress)) {
        const named = JSON.stringify(host ?? '');
        return replyText(response, 403, `requests for the host ${named} are not allowed`);
      }
      if (origins.size > 0) response.setHeader('vary', 'Origin');
      if (origin !== undefined && origins.has(origin)) {
        for (const [name, value] of Object.entries(sharedWith(origin))) response.setHeader(name, value);
        if (!isPreflight(request)) return next();
        response.writeHead(204, preflightHeaders(request)).end();
        return;
      }
      if (origin !== undefined && !isTrusted(origin, host)) {
        return replyText(response, 403, `requests from ${JSON.stringify(origin)} are not allowed`);
      }
      if (origin === undefined && isFromForeignPage(request.method, request.headers))
        return replyText(response, 403, fromForeignPage);
      next();
    },
  };
}

/** What a page may read of a response (Fetch Standard, CORS protocol). */
const sharedWith = (origin: string): Record<string, string> => ({
  'access-control-allow-origin': origin,
  'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate, Retry-After',
});

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;

/**
 * A page of an allowed origin may send any header, because the names of those that mirror parameters belong to the server
 * (MCP 2026-07-28). Browsers send no cookies, as credentials are not allowed.
 */
function preflightHeaders({ headers }: IncomingMessage): Record<string, string> {
  const asked = headers['access-control-request-headers'];
  const isPrivate = headers['access-control-request-private-network'] === 'true';
  return {
    'access-control-allow-methods': 'GET, POST, DELETE',
    ...(asked === undefined ? {} : { 'access-control-allow-headers': asked }),
    // Chromium asks before a page of the internet reaches a machine of a private network.
    ...(isPrivate ? { 'access-control-allow-private-network': 'true' } : {}),
    'access-control-max-age': '600',
  };
}

export interface HostAndOriginOptions {
  /** The origins of web pages that can use the listener from a browser (CORS), as browsers write them. */
  allowedOrigins?: readonly string[] | undefined;
  /** Names other than the loopback ones that clients may use for this listener. */
  allowedHosts: readonly string[];
  /**
   * Decides whether clients may use a host name or address, without its port. Replaces the default list, including
   * loopback. Web pages from these hosts are not trusted.
   */
  listsHost?: ((host: string) => boolean) | undefined;
  /** Accept only web pages from this very address, not all that come from this machine. */
  ownOriginOnly?: boolean | undefined;
}

export const fromForeignPage = 'requests from web pages of other sites are not allowed';

/**
 * Did a page of another site make this request (Fetch Metadata, section 2.3)? A link that leads here is followed by the
 * user, who sees the answer. The page does not.
 */
export function isFromForeignPage(method: string | undefined, headers: FetchMetadata): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  const isRead = method === 'GET' || method === 'HEAD';
  const isLink = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return !(isRead && isLink);
}

type FetchMetadata = Pick<IncomingHttpHeaders, 'sec-fetch-site' | 'sec-fetch-mode' | 'sec-fetch-dest'>;

/** Whether this is the address that the connection came in at. Then no name server was involved. */
export function isDialled(host: string, localAddress = ''): boolean {
  const address = localAddress.replace(/^::ffff:(?=\d+\.)/, '');
  return address !== '' && hostRule([address.includes(':') ? `[${address}]` : address])(host);
}

const portSuffix = /:\d{1,5}$/;
const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

/** Returns a function that tells whether a `Host` value, with or without a port, names this machine or one of `allowedHosts`. */
export function hostRule(allowedHosts: readonly string[]): (host: string) => boolean {
  const names = new Set([...loopbackNames, ...allowedHosts.map((name) => name.toLowerCase())]);
  let last: string | undefined; // almost all requests to a listener have the same
  return (host) => {
    if (host === last) return true;
    const isNamed = names.has(host.replace(portSuffix, '').toLowerCase());
    if (isNamed) last = host;
    return isNamed;
  };
}

/** Returns the host of an `Origin` header, empty for `null` and for other schemes. */
export function hostOfOrigin(origin: string): string {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1] ?? '';
}
