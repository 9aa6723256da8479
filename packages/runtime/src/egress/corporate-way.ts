import { AsyncLocalStorage } from 'node:async_hooks';
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import { type Socket, isIP } from 'node:net';
import { pipeline } from 'node:stream';
import { messageOf } from '@toolhive/contract/failure';
import { dialProxy, openTunnel, proxyHeaders } from '../corporate-tunnel.ts';
import type { Destination } from '../outbound-rules.ts';
import { HTTP_PORT } from './corporate.ts';
import { requestHeaders, withoutHopHeaders } from './http-headers.ts';
import { ConnectionEnded, Refused, breakTogether } from './outbound.ts';

// Loaded with the first connection through a proxy, because it needs twice the memory of the other gateways.

/** How long a proxy may take to open a connection. */
const PATIENCE_MS = 30_000;
const HEADERS_MS = 10_000;

export interface ThroughProxy {
  destination: Destination;
  port: number;
  proxy: string;
  ca?: readonly string[] | undefined;
}

/**
 * Passes on a connection through a corporate proxy, until both directions have ended, and tells the traffic. Throws `Refused`
 * if the proxy does not open it.
 */
export async function passOnThrough(
  inner: Socket,
  { destination, port, proxy, ca }: ThroughProxy,
): Promise<Socket | undefined> {
  if (inner.destroyed) throw new ConnectionEnded();
  const host = 'name' in destination ? destination.name : destination.address;
  if (port === HTTP_PORT && !proxy.startsWith('socks5:')) {
    passOnRequests(inner, { host, proxy, ca });
    return undefined;
  }
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const outer = await openTunnel({ proxy, host, port, signal, ca }).catch((error: unknown) => {
    throw new Refused(messageOf(error), 'nothing');
  });
  if (inner.destroyed) {
    outer.destroy();
    throw new ConnectionEnded();
  }
  breakTogether(outer, inner);
  breakTogether(inner, outer);
  const bound = AsyncLocalStorage.bind((piece: Buffer) => {
    outer.pause();
    inner.write(piece, () => setImmediate(() => outer.resume()));
  });
  outer.pause().on('data', bound);
  setImmediate(() => outer.resume()); // the caller listens for its end first
  return outer;
}

/** The host that requests must name, and the proxy for them. */
interface PlainHost {
  authority: string;
  proxy: string;
  ca: readonly string[] | undefined;
}

/** Passes on plain HTTP requests. Proxies handle these themselves, and many refuse tunnels for them. */
function passOnRequests(
  inner: Socket,
  { host, proxy, ca }: { host: string; proxy: string; ca: readonly string[] | undefined },
): void {
  const to = { authority: isIP(host) === 6 ? `[${host}]` : host, proxy, ca };
  const requests = createServer({ headersTimeout: HEADERS_MS, requestTimeout: 0 });
  const pass = (incoming: IncomingMessage, response: ServerResponse): void => {
    const target = pathOf(incoming, to.authority);
    if (target === undefined)
      return answer(response, 403, 'refused by the permission profile: the request is for another host');
    try {
      passOnRequest(incoming, response, { ...to, target });
    } catch {
      answer(response, 400, 'the request contains characters that requests cannot contain');
    }
  };
  requests.on('request', AsyncLocalStorage.bind(pass));
  requests.on('clientError', () => inner.destroy());
  requests.emit('connection', inner);
  inner.resume(); // it was accepted paused
}

/** Throws if the request cannot be written. */
function passOnRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
  { authority, target, proxy, ca }: PlainHost & { target: string },
): void {
  const outer = request({
    method: incoming.method,
    path: `http://${authority}${target}`,
    headers: [...requestHeaders(incoming, authority), ...Object.entries(proxyHeaders(proxy)).flat()],
    setHost: false,
    createConnection: () => dialProxy(proxy, ca),
  });
  outer.on('response', (answered) => {
    try {
      response.writeHead(answered.statusCode ?? 0, withoutHopHeaders(answered.rawHeaders));
    } catch {
      outer.destroy(); // Node.js reads statuses and headers that it does not write
      return;
    }
    pipeline(answered, response, () => {}); // a broken answer also breaks the response
  });
  outer.on('error', () => {}); // it closes, too
  outer.on('close', () => {
    if (!response.headersSent) answer(response, 502, 'the corporate proxy gave no usable answer');
  });
  response.on('close', () => outer.destroy());
  pipeline(incoming, outer, () => {}); // the handlers above answer the client
}

function answer(response: ServerResponse, status: number, text: string): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  response.end(`${text}\n`);
}

/** The path of a request to this host. Every request of a connection is compared, not only the first one. */
function pathOf({ url = '', headersDistinct }: IncomingMessage, authority: string): string | undefined {
  const [host, ...others] = headersDistinct['host'] ?? [];
  const named = [authority, `${authority}:${HTTP_PORT}`];
  if (others.length > 0 || !named.includes(host?.toLowerCase() ?? '')) return undefined;
  if (url.startsWith('/')) return url;
  const absolute = URL.parse(url);
  if (absolute?.protocol !== 'http:' || absolute.host !== authority || absolute.username !== '')
    return undefined;
  return `${absolute.pathname}${absolute.search}`;
}
