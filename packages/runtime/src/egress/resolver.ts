import { promises as dns } from 'node:dns';

/**
 * Returns all addresses of a name. Rejects with the code `ENOTFOUND` if the name does not exist, and with another
 * error if the lookup fails.
 */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** A connection follows its lookup within moments, and must not cost another query. */
const REMEMBERED_MS = 10_000;
const MAX_REMEMBERED = 4096;
/** How long the list of this machine's resolvers is used, which changes with its network. */
const RESOLVER_MS = 30_000;
const TIMEOUT_MS = 4_000;

/** Resolves names with the resolvers of this machine, without its threads, which a slow resolver would fill. */
export function openResolver(): Resolve {
  const remembered = new Map<string, { until: number; addresses: Promise<readonly string[]> }>();
  let resolver = { until: 0, dns: new dns.Resolver() };

  return (name) => {
    const now = performance.now();
    const known = remembered.get(name);
    if (known !== undefined && known.until > now) return known.addresses;
    if (resolver.until <= now) {
      resolver = { until: now + RESOLVER_MS, dns: new dns.Resolver({ timeout: TIMEOUT_MS, tries: 2 }) };
    }
    const addresses = resolveBoth(resolver.dns, name);
    addresses.catch(() => {}); // the caller receives the error
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(name, { until: now + REMEMBERED_MS, addresses });
    return addresses;
  };
}

async function resolveBoth(resolver: dns.Resolver, name: string): Promise<readonly string[]> {
  const both = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = both.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (addresses.length > 0) return addresses;
  const failures = both.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const isMissing = failures.every(isAbsent);
  throw Object.assign(new Error(`${name} cannot be resolved`, { cause: failures[0] }), {
    code: isMissing ? 'ENOTFOUND' : 'EAI_AGAIN',
  });
}

/** The name does not exist, or has no such record. */
const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOTFOUND' || error.code === 'ENODATA');
