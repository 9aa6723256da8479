import { isLoopback } from '@toolhive/contract/loopback';

/** What an installer or the daemon wants to connect to. */
export interface Target {
  host: string;
  port: number;
  isHttp: boolean;
}

/**
 * The corporate proxy for a connection, from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, and `NO_PROXY` in either
 * case, as curl and Go read them. Loopback addresses are never behind a proxy.
 */
export function corporateProxyFor(
  { host, port, isHttp }: Target,
  env: NodeJS.ProcessEnv,
): string | undefined {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || undefined;
  const proxy = read(isHttp ? 'HTTP_PROXY' : 'HTTPS_PROXY') ?? read('ALL_PROXY');
  if (proxy === undefined || isLoopback(host)) return undefined;
  const exceptions = (read('NO_PROXY') ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  if (exceptions.some((entry) => matches(entry, host, port))) return undefined;
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

/** `*`, `example.com` with its subdomains, `.example.com`, each with a port or without. */
function matches(entry: string, host: string, port: number): boolean {
  if (entry === '*') return true;
  const [, name = '', only] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  if (only !== undefined && Number(only) !== port) return false;
  const suffix = name.replace(/^\*?\./, '').toLowerCase();
  return host.toLowerCase() === suffix || host.toLowerCase().endsWith(`.${suffix}`);
}
