import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { forbidden, unavailable } from '@toolhive/contract/failure';
import type { ThvError } from '@toolhive/contract/failure';
import { userAgent } from '@toolhive/contract/user-agent';
import { isMetadataName, refusalOf } from '@toolhive/runtime/addresses';
import type { PrivateReach } from '@toolhive/runtime/addresses';
import { corporateProxyFor } from '@toolhive/runtime/corporate-proxy';
import { openTunnel, proxyFailure } from '@toolhive/runtime/corporate-tunnel';
import { trustSystem } from '@toolhive/runtime/system-trust';
import { Agent, Pool, ProxyAgent, buildConnector } from 'undici';
import type { Dispatcher } from 'undici';

export type Lookup = (
  host: string,
  options: { all: true },
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

/** Which addresses a connection may lead to, and how names are resolved. */
export interface Reach {
  /** Private addresses, or some of them, are fine. Link-local addresses and those of cloud metadata never are. */
  allowPrivate?: PrivateReach | undefined;
  /** Resolves names, in tests. */
  lookup?: Lookup | undefined;
  /** The certificate authorities to trust instead of the usual ones, as PEM. */
  ca?: string | string[] | undefined;
  /** Names the corporate proxy. By default, the environment of this process. */
  env?: NodeJS.ProcessEnv | undefined;
}

export interface WayOptions extends Reach {
  /** Changes how connections are opened, for example to count them or to explain why they fail. */
  wrap?: (connect: buildConnector.connector) => buildConnector.connector;
  maxHeaderSize?: number;
  headersTimeout?: number;
  bodyTimeout?: number;
}

/** The corporate proxy for a URL, if there is one. */
export function proxyFor({ protocol, hostname, port }: URL, env = process.env): string | undefined {
  const isHttp = protocol === 'http:';
  const host = hostname.replace(/^\[|\]$/g, '');
  return corporateProxyFor({ host, port: Number(port) || (isHttp ? 80 : 443), isHttp }, env);
}

/**
 * Opens connections to the host of a URL: directly to allowed addresses only, or through the corporate proxy. Behind a proxy,
 * a name that this machine can resolve, and a numeric address, are checked in the same way before each connection. The
 * rest is the proxy's decision. Requests without `User-Agent` get that of ToolHive.
 */
export function openWay(url: URL, options: WayOptions = {}): Dispatcher {
  return openConnections(url, options).compose(
    (dispatch) => (request, handler) => dispatch({ ...request, headers: named(request.headers) }, handler),
  );
}

/** A request's headers with the sender's name. */
function named(headers: Dispatcher.DispatchOptions['headers']): Dispatcher.DispatchOptions['headers'] {
  if (headers === undefined || headers === null) return { 'user-agent': userAgent };
  if (Array.isArray(headers) || Symbol.iterator in headers) return headers;
  const isNamed = Object.keys(headers).some((name) => name.toLowerCase() === 'user-agent');
  return isNamed ? headers : { ...headers, 'user-agent': userAgent };
}

function openConnections(url: URL, options: WayOptions): Dispatcher {
  const { wrap = (connect) => connect, env, maxHeaderSize, headersTimeout, bodyTimeout } = options;
  const limits = defined({ maxHeaderSize, headersTimeout, bodyTimeout });
  const proxy = proxyFor(url, env);
  if (url.protocol === 'https:' || proxy?.startsWith('https:')) trustSystem();
  if (proxy === undefined) return new Agent({ ...limits, connect: wrap(guardedConnect(options)) });
  const checked = (connect: buildConnector.connector): buildConnector.connector =>
    wrap(checkedFirst(url, options, connect));
  if (url.protocol === 'https:' || proxy.startsWith('socks5:')) {
    return new Agent({ ...limits, connect: checked(tunnelConnect(proxy, options)) });
  }
  // Proxies pass on plain HTTP themselves, and many refuse tunnels for it.
  return new ProxyAgent({
    ...limits,
    uri: proxy,
    factory: (origin, given: { connect?: unknown }) =>
      new Pool(origin, { ...limits, connect: checked(explained(connectorFrom(given.connect), proxy, url)) }),
  });
}

function defined<Values extends object>(
  values: Values,
): { [Key in keyof Values]?: NonNullable<Values[Key]> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Key in keyof Values]?: NonNullable<Values[Key]> };
}

/** undici passes a connector here, which its types do not say. */
const connectorFrom = (connect: unknown): buildConnector.connector => connect as buildConnector.connector;

/** How long a proxy may take. */
const tunnelMs = 30_000;

function tunnelConnect(proxy: string, { ca }: Reach): buildConnector.connector {
  const secure = buildConnector({ allowH2: false, ...(ca === undefined ? {} : { ca }) });
  return (options, connected) => {
    const { hostname, protocol, port } = options;
    const isSecure = protocol === 'https:';
    openTunnel({
      proxy,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port) || (isSecure ? 443 : 80),
      signal: AbortSignal.timeout(tunnelMs),
    }).then(
      (socket) =>
        isSecure ? secure({ ...options, httpSocket: socket }, connected) : connected(null, socket),
      (error: unknown) => connected(asError(error), null),
    );
  };
}

/** Names the proxy in an error. Otherwise, the host would look unreachable. */
function explained(
  connect: buildConnector.connector,
  proxy: string,
  { host }: URL,
): buildConnector.connector {
  return (options, done) => {
    connect(options, (...[error, socket]) => {
      if (error === null) return done(null, socket);
      const { code } = error as { code?: unknown };
      done(proxyFailure(proxy, host, typeof code === 'string' ? code : error.message, error), null);
    });
  };
}

function checkedFirst(url: URL, reach: Reach, connect: buildConnector.connector): buildConnector.connector {
  return (options, connected) => {
    refusalBehindProxy(url, reach).then(
      (refusal) => (refusal === undefined ? connect(options, connected) : connected(refusal, null)),
      (error: unknown) => connected(asError(error), null),
    );
  };
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Names that never belong to public hosts (RFC 6761, RFC 6762, RFC 8375, and the name of cloud metadata services). */
const privateName = /^[^.]+$|(?:^|\.)(?:localhost|local|internal|home\.arpa|lan|intranet|corp)$/i;

/** Why a connection to a host behind a proxy is refused. */
async function refusalBehindProxy(
  { hostname }: URL,
  { allowPrivate = false, lookup = systemLookup }: Reach,
): Promise<ThvError | undefined> {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) {
    const refusal = refusalOf(host, allowPrivate);
    return refusal === undefined ? undefined : forbidden(`${host} is ${refusal}`);
  }
  if (isMetadataName(host)) return forbidden(`${host} is the name of a cloud metadata service`);
  if (allowPrivate === false && privateName.test(host)) return forbidden(`${host} is a private name`);
  const { promise, resolve } = Promise.withResolvers<LookupAddress[]>();
  const timer = setTimeout(() => resolve([]), lookupMs);
  lookup(host, { all: true }, (error, addresses) => resolve(error === null ? addresses : []));
  const found = await promise;
  clearTimeout(timer);
  return refuseAny(host, found, allowPrivate);
}

/** How long a name may take. In many networks with a proxy, only the proxy resolves names of other networks. */
const lookupMs = 2_000;

/** Dials only allowed addresses. Names go through `lookup`. Numeric addresses do not, so they are checked here. */
export function guardedConnect({ allowPrivate = false, lookup, ca }: Reach): buildConnector.connector {
  const dial = buildConnector({
    lookup: guardedLookup({ allowPrivate, lookup }),
    allowH2: false,
    ...(ca === undefined ? {} : { ca }),
  });
  return (options, done) => {
    const literal = options.hostname.replace(/^\[|\]$/g, '');
    const what = isIP(literal) === 0 ? undefined : refusalOf(literal, allowPrivate);
    if (what === undefined) dial(options, done);
    // undici waits forever if a connector calls back before it returns.
    else queueMicrotask(() => done(forbidden(`${literal} is ${what}`), null));
  };
}

/** Resolves names to allowed addresses only. */
export function guardedLookup({ allowPrivate = false, lookup = systemLookup }: Reach): LookupFunction {
  return (host, { all }, done) => {
    lookup(host, { all: true }, (error, addresses) => {
      const found = error ?? refuseAny(host, addresses, allowPrivate) ?? noneOf(host, addresses);
      const [first] = addresses ?? [];
      if (found !== undefined || first === undefined) done(found ?? null, []);
      else if (all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

/** One bad address is enough: a name that leads inside as well as outside means no good. */
function refuseAny(
  host: string,
  addresses: LookupAddress[],
  allowPrivate: PrivateReach,
): ThvError | undefined {
  for (const { address } of addresses) {
    const what = refusalOf(address, allowPrivate);
    if (what !== undefined) return forbidden(`${host} is ${what}`);
  }
  return undefined;
}

function noneOf(host: string, addresses: LookupAddress[]): ThvError | undefined {
  return addresses.length === 0 ? unavailable(`${host} does not resolve to an address`) : undefined;
}
