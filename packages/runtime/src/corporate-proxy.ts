import { BlockList, isIP } from 'node:net';
import { invalid } from '@toolhive/contract/failure';
import { isLoopback } from '@toolhive/contract/loopback';

/** What an installer, a server, or the daemon wants to connect to. An IPv6 address has no brackets. */
export interface Target {
  host: string;
  port: number;
  /** Whether the request is plain HTTP, which a proxy passes on itself. Everything else needs a tunnel. */
  isHttp: boolean;
}

/** The variables that name corporate proxies, each also in lower case, which counts first. */
const variables = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'] as const;

/** The protocols that a proxy may speak, with the names under which undici and proxy-chain know them. */
const schemes: Readonly<Record<string, string>> = {
  'http:': 'http:',
  'https:': 'https:',
  'socks:': 'socks5:',
  'socks5:': 'socks5:',
  'socks5h:': 'socks5:',
};

/** The part of an environment that names corporate proxies. */
export function proxyVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  const names = variables.flatMap((name) => [name, name.toLowerCase()]);
  return Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/**
 * The URL of the corporate proxy for a connection, from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, and `NO_PROXY`, as curl
 * and Go read them. Loopback addresses are never behind a proxy. Throws `invalid` if the variable does not name a proxy.
 */
export function corporateProxyFor(
  { host, port, isHttp }: Target,
  env: NodeJS.ProcessEnv,
): string | undefined {
  const read = (name: string): string | undefined => env[name.toLowerCase()] || env[name] || undefined;
  const own = isHttp ? 'HTTP_PROXY' : 'HTTPS_PROXY';
  const name = read(own) === undefined ? 'ALL_PROXY' : own;
  const proxy = read(name)?.trim();
  if (proxy === undefined || proxy === '' || isLoopback(host)) return undefined;
  const exceptions = (read('NO_PROXY') ?? '').split(/[\s,;]+/).filter((entry) => entry !== '');
  const wanted = host.toLowerCase().replace(/\.$/, '');
  if (exceptions.some((entry) => isException(entry.toLowerCase(), wanted, port))) return undefined;
  return urlOf(proxy, name);
}

/** A proxy for messages: without its password. */
export function nameOfProxy(proxy: string): string {
  const { protocol, host } = new URL(proxy);
  return `${protocol}//${host}`;
}

function urlOf(proxy: string, variable: string): string {
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`);
  const scheme = schemes[url?.protocol ?? ''];
  if (url === null || scheme === undefined || url.hostname === '') {
    const what =
      url === null || url.hostname === ''
        ? 'is not the URL of a proxy'
        : `names a proxy for ${url.protocol}//`;
    throw invalid(`the variable ${variable} ${what}`, {
      hint: `set ${variable} to a URL such as http://proxy.example.com:3128, with http, https, or socks5`,
    });
  }
  // A scheme that URLs do not know cannot be assigned.
  return `${scheme}${url.href.slice(url.protocol.length)}`.replace(/\/$/, '');
}

/**
 * Whether an entry of `NO_PROXY` covers a host: `*`, `example.com` with its subdomains, `.example.com`, `*.example.com`,
 * an address, or a subnet, each with a port or without.
 */
function isException(entry: string, host: string, port: number): boolean {
  if (entry === '*') return true;
  const { name, only } = splitPort(entry);
  if (only !== undefined && only !== port) return false;
  if (isIP(host) !== 0) return coversAddress(name, host);
  const suffix = name.replace(/^\*?\./, '').replace(/\.$/, '');
  return suffix !== '' && (host === suffix || host.endsWith(`.${suffix}`));
}

/** An IPv6 address has a port only behind brackets. */
function splitPort(entry: string): { name: string; only?: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? entry;
  return port === undefined ? { name } : { name, only: Number(port) };
}

function coversAddress(entry: string, host: string): boolean {
  const [address = '', bits] = entry.split('/');
  if (isIP(address) === 0) return false;
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  const most = family === 'ipv6' ? 128 : 32;
  const prefix = bits === undefined ? most : Number(bits);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > most) return false;
  const covered = new BlockList();
  covered.addSubnet(address, prefix, family);
  return covered.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4');
}
