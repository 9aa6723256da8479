import { replyText } from '../http/reply.ts';
import type { Middleware, PipelineOptions } from '../pipeline.ts';

/**
 * Refuses requests that a web page got the browser to send: those to a host name that is not ours (DNS
 * rebinding) and those from an origin that is not on this machine (MCP 2025-11-25, Transports, Security Warning).
 */
export function hostAndOrigin({ allowedHosts, ownOriginOnly }: PipelineOptions): Middleware {
  const isAllowed = hostRule(allowedHosts);
  const isFriend = (origin: string, host: string): boolean =>
    ownOriginOnly === true
      ? hostOfOrigin(origin).toLowerCase() === host.toLowerCase()
      : isAllowed(hostOfOrigin(origin));
  return ({ request, response }, next) => {
    const { host, origin } = request.headers;
    if (host === undefined || !(isAllowed(host) || isDialled(host, request.socket.localAddress))) {
      return replyText(
        response,
        403,
        `requests for the host ${JSON.stringify(host ?? '')} are not answered here`,
      );
    }
    if (origin !== undefined && !isFriend(origin, host)) {
      return replyText(response, 403, `requests from ${JSON.stringify(origin)} are not answered here`);
    }
    next();
  };
}

/** Is it the very address that the connection came in at? Then no name server has led anybody here. */
export function isDialled(host: string, localAddress = ''): boolean {
  const address = localAddress.replace(/^::ffff:(?=\d+\.)/, '');
  return address !== '' && hostRule([address.includes(':') ? `[${address}]` : address])(host);
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

/** Tells whether a `Host` value, with or without a port, names this machine or one of `allowedHosts`. */
export function hostRule(allowedHosts: readonly string[]): (host: string) => boolean {
  const names = new Set([...loopbackNames, ...allowedHosts.map((name) => name.toLowerCase())]);
  return (host) => names.has(host.replace(/:\d{1,5}$/, '').toLowerCase());
}

/** The host of an `Origin` header; `null` and other schemes have none that could be allowed. */
export function hostOfOrigin(origin: string): string {
  return /^https?:\/\/([^/]+)$/i.exec(origin)?.[1] ?? '';
}
