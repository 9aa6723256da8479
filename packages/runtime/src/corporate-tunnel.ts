import { type RequestOptions, request } from 'node:http';
import { type Socket, connect, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import { SocksClient } from 'socks';
import { nameOfProxy } from './corporate-proxy.ts';

export interface TunnelOptions {
  /** The URL of the proxy, from `corporateProxyFor`. */
  proxy: string;
  /** The host to reach. An IPv6 address has no brackets. */
  host: string;
  port: number;
  signal: AbortSignal;
  /** The certificate authorities that vouch for an `https` proxy, instead of the usual ones, as PEM. */
  ca?: readonly string[] | undefined;
}

/**
 * Opens a connection to a host through a corporate proxy: with `CONNECT` (RFC 9110, section 9.3.6) or SOCKS 5 (RFC 1928). The
 * proxy resolves the name. The socket allows half-open connections and has not been read. Throws `unavailable` with the
 * proxy's name, but without its password.
 */
export async function openTunnel(options: TunnelOptions): Promise<Socket> {
  const { proxy, host, signal } = options;
  try {
    signal.throwIfAborted();
    return await (proxy.startsWith('socks5:') ? throughSocks(options) : throughConnect(options));
  } catch (error) {
    throw proxyFailure(proxy, host, reasonOf(error), error);
  }
}

/** The error of a connection that a proxy does not open. `reason` is a status or a code. */
export function proxyFailure(proxy: string, host: string, reason: string, cause?: unknown): Error {
  const hint =
    reason === 'status 407'
      ? 'put the name and the password into the variable: http://NAME:PASSWORD@HOST:PORT'
      : 'check HTTPS_PROXY, HTTP_PROXY, and ALL_PROXY, or add the host to NO_PROXY';
  const what = `the corporate proxy ${nameOfProxy(proxy)} gives no connection to ${host}: ${reason}`;
  return unavailable(what, { hint, cause });
}

/** The headers with which a proxy recognizes its user (RFC 7617). */
export function proxyHeaders(proxy: string): Record<string, string> {
  const { username, password } = new URL(proxy);
  if (username === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** Opens a connection to a proxy itself. */
export function dialProxy(proxy: string, ca?: readonly string[]): Socket {
  const { protocol, hostname, port } = new URL(proxy);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:') return connect({ host, port: Number(port) || 80, allowHalfOpen: true });
  const socket = connect({ host, port: Number(port) || 443, allowHalfOpen: true });
  const name = isIP(host) === 0 ? { servername: host } : {};
  const secure = connectTls({ socket, host, ...name, ...(ca === undefined ? {} : { ca: [...ca] }) });
  socket.on('error', (error) => secure.destroy(error));
  return secure;
}

function throughConnect({ proxy, host, port, signal, ca }: TunnelOptions): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const options: RequestOptions = {
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...proxyHeaders(proxy) },
    setHost: false,
    signal,
    createConnection: () => dialProxy(proxy, ca),
  };
  const asked = request(options);
  asked.on('error', reject);
  asked.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
    socket.on('error', () => {}); // until its user listens
    if (statusCode < 200 || statusCode > 299) {
      socket.destroy();
      return reject(new Error(`status ${statusCode}`));
    }
    if (head.length > 0) socket.unshift(head);
    resolve(socket);
  });
  asked.on('response', (answer) => {
    answer.destroy();
    reject(new Error(`status ${answer.statusCode}`));
  });
  asked.end();
  return promise;
}

async function throughSocks({ proxy, host, port, signal }: TunnelOptions): Promise<Socket> {
  const { hostname, port: proxyPort, username, password } = new URL(proxy);
  const opening = SocksClient.createConnection({
    command: 'connect',
    destination: { host, port },
    proxy: {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(proxyPort) || 1080,
      type: 5,
      ...(username === ''
        ? {}
        : { userId: decodeURIComponent(username), password: decodeURIComponent(password) }),
    },
    timeout: socksMs,
  });
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const { socket } = await Promise.race([opening, aborted]);
    socket.on('error', () => {}); // until its user listens
    return socket;
  } catch (error) {
    opening.then(({ socket }) => socket.destroy()).catch(() => {}); // it came too late, or not at all
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Longer than any caller waits. */
const socksMs = 60_000;

/** The network error's code, or the proxy's message. */
function reasonOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (name === 'TimeoutError') return 'no answer';
  if (typeof code === 'string') return code;
  return /\bE[A-Z]{4,}\b/.exec(messageOf(error))?.[0] ?? messageOf(error); // the SOCKS library only has messages
}
