import { type RecordWithTtl, promises as dns } from 'node:dns';

/**
 * Returns all addresses of a name. Rejects with the code `ENOTFOUND` if the name does not exist, and with another
 * error if the lookup fails.
 */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** How long an answer is remembered at most, and a failure. A connection follows its lookup within moments. */
const REMEMBERED_MS = 10_000;
const FAILURE_REMEMBERED_MS = 1_000;
const MAX_REMEMBERED = 4096;
/** How long the list of this machine's resolvers is used, which changes with its network. */
const RESOLVER_MS = 30_000;
const TIMEOUT_MS = 4_000;

/**
 * Resolves names without the threads of this process, which a slow resolver would fill: with the resolvers of this machine,
 * or with others, which are addresses with an optional port.
 */
export function openResolver(nameServers?: readonly string[]): Resolve {
  const remembered = new Map<string, Remembered>();
  let resolver = { until: 0, dns: new dns.Resolver() };
  const open = (): dns.Resolver => {
    const opened = new dns.Resolver({ timeout: TIMEOUT_MS, tries: 2 });
    if (nameServers !== undefined) opened.setServers(nameServers);
    return opened;
  };

  return (name) => {
    const now = performance.now();
    const known = remembered.get(name);
    if (known !== undefined && known.until > now) return known.addresses;
    if (resolver.until <= now) {
      resolver = { until: now + RESOLVER_MS, dns: open() };
    }
    const found = resolveBoth(resolver.dns, name);
    const entry: Remembered = {
      until: Number.POSITIVE_INFINITY,
      addresses: found.then((records) => records.map(({ address }) => address)),
    };
    const rememberFor = (ms: number): void => {
      entry.until = performance.now() + ms;
    };
    found.then(
      (records) => rememberFor(Math.min(REMEMBERED_MS, ...records.map(({ ttl }) => ttl * 1000))),
      () => rememberFor(FAILURE_REMEMBERED_MS),
    );
    entry.addresses.catch(() => {}); // the caller receives the error
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(name, entry);
    return entry.addresses;
  };
}

interface Remembered {
  until: number;
  addresses: Promise<readonly string[]>;
}

async function resolveBoth(resolver: dns.Resolver, name: string): Promise<RecordWithTtl[]> {
  const ttl = { ttl: true } as const;
  const both = await Promise.allSettled([resolver.resolve4(name, ttl), resolver.resolve6(name, ttl)]);
  const records = both.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
  if (records.length > 0) return records;
  const failures = both.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const isMissing = failures.every(isAbsent);
  throw Object.assign(new Error(`${name} cannot be resolved`, { cause: failures[0] }), {
    code: isMissing ? 'ENOTFOUND' : 'EAI_AGAIN',
  });
}

/** The name does not exist, or has no such record. */
const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOTFOUND' || error.code === 'ENODATA');
