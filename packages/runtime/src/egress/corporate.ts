import { messageOf } from '@toolhive/contract/failure';
import { isMetadataName } from '../addresses.ts';
import { corporateProxyFor } from '../corporate-proxy.ts';
import type { Destination } from '../outbound-rules.ts';
import { Refused } from './outbound.ts';
import type { Resolve } from './resolver.ts';

/** The corporate proxies of this machine. */
export interface CorporateProxies {
  /** The variables that name proxies, and exceptions. */
  variables: Readonly<Record<string, string>>;
  /** The certificate authorities that vouch for an `https` proxy, as PEM. */
  ca?: readonly string[] | undefined;
}

/** How long a lookup may take that only checks a name. In many networks, only the proxy resolves names of others. */
const LOOKUP_MS = 1_000;
/** The port of requests that a proxy passes on itself. */
export const HTTP_PORT = 80;
const WEB_PORTS = [HTTP_PORT, 443];

/** The proxy for a connection. Throws `Refused` if a variable does not name a proxy. */
export function proxyOf(
  destination: Destination,
  port: number,
  { variables }: CorporateProxies,
): string | undefined {
  const host = 'name' in destination ? destination.name : destination.address;
  try {
    return corporateProxyFor({ host, port, isHttp: port === HTTP_PORT }, variables);
  } catch (error) {
    throw new Refused(messageOf(error), 'nothing');
  }
}

/** Whether web requests to a name go through a proxy, which then resolves it. */
export function isBehindProxy(name: string, proxies: CorporateProxies): boolean {
  try {
    return WEB_PORTS.some((port) => proxyOf({ name }, port, proxies) !== undefined);
  } catch {
    return false; // a connection tells why
  }
}

/** A resolver for checks: what takes long counts as unknown. Throws `Refused` for the names of cloud metadata services. */
export function quickly(resolve: Resolve): Resolve {
  return async (name) => {
    if (isMetadataName(name)) throw new Refused('it is the name of a cloud metadata service', 'nothing');
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error('the lookup takes long')), LOOKUP_MS);
    try {
      return await Promise.race([resolve(name), late]);
    } finally {
      clearTimeout(timer);
    }
  };
}
