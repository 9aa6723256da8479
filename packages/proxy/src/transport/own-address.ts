import { isIP } from 'node:net';
import { isLoopback } from '@toolhive/contract/loopback';
import { refusalOf } from '@toolhive/runtime/addresses';

/** How requests reach a server. */
export interface Reach {
  origin: string;
  /** Whether the server runs in a sandbox or a container, where it has other addresses than outside. */
  isLocal: boolean;
}

/**
 * The path for an address that a server names for itself, if that means the server. Requests always go to the address
 * that the user knows, so no server gets the messages and credentials of another one. Undefined for another server.
 */
export function ownPath(address: string, from: string, { origin, isLocal }: Reach): string | undefined {
  const url = URL.parse(address, new URL(from, origin).href);
  if (url === null) return undefined;
  const own = new URL(origin);
  const isOwn = url.origin === own.origin || isSameHost(url, own) || isOfServer(url.hostname, isLocal);
  return isOwn && /^https?:$/.test(url.protocol) ? `${url.pathname}${url.search}` : undefined;
}

/** Behind a proxy that ends TLS, servers often name the right host with the wrong scheme. */
function isSameHost(url: URL, own: URL): boolean {
  return url.hostname === own.hostname && (url.port === '' || url.port === own.port);
}

/** Whether only the server itself can mean an address: the machine it runs on, or the network of its container. */
function isOfServer(hostname: string, isLocal: boolean): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isLoopback(bare) || bare === '0.0.0.0' || bare === '::') return true;
  if (!isLocal) return false;
  if (isIP(bare) !== 0) return refusalOf(bare, false) !== undefined;
  return !bare.includes('.') || bare.endsWith('.internal') || bare.endsWith('.local');
}
