import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { bounded, readBounded } from '@toolhive/contract/bounded-read';
import {
  ThvError,
  cancelled,
  forbidden,
  invalid,
  messageOf,
  notFound,
  timedOut,
  tooLarge,
  unavailable,
} from '@toolhive/contract/failure';
import { Agent, ProxyAgent, buildConnector } from 'undici';
import type { Dispatcher } from 'undici';
import { isLoopback } from '@toolhive/contract/loopback';
import { neverAllowed, refusalOf } from '@toolhive/runtime/addresses';
import type { PrivateReach } from '@toolhive/runtime/addresses';
import { parseJson } from '@toolhive/contract/json-text';

export interface GuardedRequest {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
  /** Private addresses, or some of them, and plain `http` are fine. Link-local addresses and those of cloud metadata never are. */
  allowPrivate?: PrivateReach | undefined;
  /** Plain `http` is fine, but no private address. */
  allowHttp?: boolean;
  /** Whether to follow redirects, which is the default. If false, returns the redirect response. */
  followRedirects?: boolean;
  /** How much may come back, before and after decompression. */
  maxBytes?: number;
  /** For everything together: names, redirects, the whole body. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Resolves names, in tests. */
  lookup?: Lookup | undefined;
  /** The certificate authorities to trust instead of the usual ones, as PEM. */
  ca?: string | string[];
  /**
   * The URL of a corporate proxy for the connection. The proxy resolves the name, so only a numeric address is checked:
   * only for hosts that the user has chosen.
   */
  proxy?: string | undefined;
}

export type Lookup = (
  host: string,
  options: { all: true },
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardedResponse {
  status: number;
  /** Where the answer came from, after redirects. */
  url: string;
  headers: Dispatcher.ResponseData['headers'];
  text: string;
  /** How much came, unpacked. */
  bytes: number;
}

export const defaultLimits = { maxBytes: 1024 * 1024, timeoutMs: 30_000, maxDepth: 64 };
const maxRedirects = 5;
const maxHeaderBytes = 16 * 1024;

/**
 * Fetches a URL from an untrusted source. Checks the exact address of every connection, including redirects, when
 * dialing, so no name can lead to this machine or its network. Uses no proxy unless the request names one, because this
 * check is impossible behind a proxy. Every failure is a `ThvError` that does not quote the response.
 */
export async function guardedFetch(address: string, request: GuardedRequest = {}): Promise<GuardedResponse> {
  const { timeoutMs = defaultLimits.timeoutMs, signal } = request;
  const limit = AbortSignal.timeout(timeoutMs);
  const either = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  let url = checkUrl(address, request);
  let { headers = {}, allowPrivate } = request;
  try {
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const answer = await fetchOnce(url, { ...request, allowPrivate, headers, signal: either });
      if (typeof answer === 'object') return answer;
      const next = checkUrl(answer, request, url);
      if (next.origin !== url.origin) headers = keepOnly(headers, 'accept');
      // The caller has allowed another machine, which must not choose a service of this one.
      if (allowPrivate === true && !isHere(url)) allowPrivate = 'others';
      url = next;
    }
  } catch (error) {
    if (signal?.aborted) throw cancelled(`${nameOf(url)} is no longer wanted`);
    if (limit.aborted) throw timedOut(`${nameOf(url)} took longer than ${timeoutMs / 1000} seconds`);
    if (error instanceof ThvError) throw error;
    throw unavailable(`${nameOf(url)} cannot be read: ${codeOf(error)}`, { cause: error });
  }
  throw unavailable(`${nameOf(new URL(address))} redirects more than ${maxRedirects} times`);
}

/** Fetches JSON. An answer that is neither that nor "not modified" is a failure. */
export async function fetchJson(
  address: string,
  request: GuardedRequest & { maxDepth?: number } = {},
): Promise<Omit<GuardedResponse, 'text'> & { body: unknown }> {
  const headers = { accept: 'application/json', ...request.headers };
  const { text, ...answer } = await guardedFetch(address, { ...request, headers });
  const name = nameOf(new URL(answer.url));
  if (answer.status === 304) return { ...answer, body: undefined };
  if (answer.status === 404 || answer.status === 410) throw notFound(`${name} not found`);
  if (answer.status !== 200) throw unavailable(`${name} returned status ${answer.status}`);
  return {
    ...answer,
    body: parseJson(text, name, { maxDepth: request.maxDepth ?? defaultLimits.maxDepth }),
  };
}

/** One request on a new connection, because a kept connection could have been dialed under other rules. */
async function fetchOnce(url: URL, request: GuardedRequest): Promise<GuardedResponse | string> {
  const { method = 'GET', body, signal, maxBytes = defaultLimits.maxBytes } = request;
  const agent = agentFor(request);
  try {
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      headers: { 'accept-encoding': 'gzip, br', ...request.headers },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    const { statusCode: status, headers } = response;
    response.body.on('error', () => {}); // the reader of the body receives the error
    const location = status >= 301 && status <= 308 && status !== 304 ? headers['location'] : undefined;
    if (typeof location === 'string') {
      if (method === 'POST') throw unavailable(`${nameOf(url)} redirects a request with a body`);
      if (request.followRedirects !== false) return location;
    }
    const read = await readText(response, maxBytes, nameOf(url), signal);
    return { status, url: url.href, headers, ...read };
  } finally {
    await agent.destroy();
  }
}

function agentFor(request: GuardedRequest): Dispatcher {
  const { proxy, ca } = request;
  if (proxy === undefined)
    return new Agent({ connect: guardedConnect(request), maxHeaderSize: maxHeaderBytes });
  const requestTls = ca === undefined ? {} : { requestTls: { ca } };
  return new ProxyAgent({ uri: proxy, maxHeaderSize: maxHeaderBytes, ...requestTls });
}

/** Checks a URL before its use. `from` is the redirecting URL. */
function checkUrl(
  address: string,
  { allowPrivate = false, allowHttp = false, proxy }: GuardedRequest,
  from?: URL,
): URL {
  const url = URL.parse(address, from?.href);
  if (url === null) throw invalid(`${JSON.stringify(address.slice(0, 200))} is not a URL`);
  if (url.username !== '' || url.password !== '') {
    throw invalid(`the URL of ${url.host} contains a user name or a password`);
  }
  const never = proxy === undefined ? undefined : neverAllowed(url.hostname);
  if (never !== undefined) throw forbidden(`${url.hostname} is ${never}`);
  if (url.protocol === 'https:') return url;
  if (url.protocol !== 'http:') throw invalid(`${nameOf(url)} is neither https nor http`);
  if (from?.protocol === 'https:') throw forbidden(`${nameOf(from)} redirects to plain http`);
  if (allowPrivate === false && !allowHttp) throw forbidden(`${nameOf(url)} is not https`);
  return url;
}

const isHere = ({ hostname }: URL): boolean => isLoopback(hostname.replace(/^\[|\]$/g, ''));

/** Dials only allowed addresses. Names go through `lookup`. Numeric addresses do not, so they are checked here. */
export function guardedConnect({
  allowPrivate = false,
  lookup,
  ca,
}: Pick<GuardedRequest, 'allowPrivate' | 'lookup' | 'ca'>): buildConnector.connector {
  const dial = buildConnector({
    lookup: guardedLookup({ allowPrivate, lookup }),
    allowH2: false,
    ...(ca === undefined ? {} : { ca }),
  });
  return (options, done) => {
    const literal = options.hostname.replace(/^\[|\]$/g, '');
    const what = isIP(literal) === 0 ? undefined : refusalOf(literal, allowPrivate);
    if (what === undefined) dial(options, done);
    else done(forbidden(`${literal} is ${what}`), null);
  };
}

/** Resolves names to allowed addresses only. */
export function guardedLookup({
  allowPrivate = false,
  lookup = systemLookup,
}: Pick<GuardedRequest, 'allowPrivate' | 'lookup'>): LookupFunction {
  return (host, { all }, done) => {
    lookup(host, { all: true }, (error, addresses) => {
      const found = error ?? refuseAny(host, addresses) ?? noneOf(host, addresses);
      const [first] = addresses ?? [];
      if (found !== undefined || first === undefined) done(found ?? null, []);
      else if (all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };

  /** One bad address is enough: a name that leads inside as well as outside means no good. */
  function refuseAny(host: string, addresses: LookupAddress[]): ThvError | undefined {
    for (const { address } of addresses) {
      const what = refusalOf(address, allowPrivate);
      if (what !== undefined) return forbidden(`${host} is ${what}`);
    }
    return undefined;
  }

  function noneOf(host: string, addresses: LookupAddress[]): ThvError | undefined {
    return addresses.length === 0 ? unavailable(`${host} does not resolve to an address`) : undefined;
  }
}

const decoders = new Map([
  ['identity', () => new PassThrough()],
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

async function readText(
  { headers, body }: Dispatcher.ResponseData,
  maxBytes: number,
  name: string,
  signal: AbortSignal | undefined,
): Promise<{ text: string; bytes: number }> {
  const decoder = decoders.get(String(headers['content-encoding'] ?? 'identity').toLowerCase());
  if (decoder === undefined) throw unavailable(`${name} uses an unsupported compression`);
  const excess = (): Error => tooLarge(`${name} is larger than ${maxBytes} bytes`);
  const limited = (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> =>
    bounded(source, maxBytes, excess);
  let all: Uint8Array = new Uint8Array();
  // Bounded before and behind the decoder: a few compressed bytes can become very many.
  await pipeline(
    body,
    limited,
    decoder(),
    async (source) => {
      all = await readBounded(source, maxBytes, excess);
    },
    { signal },
  );
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(all), bytes: all.length };
  } catch (cause) {
    throw unavailable(`${name} is not UTF-8`, { cause });
  }
}

function keepOnly(headers: Record<string, string>, kept: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() === kept));
}

/** A URL for messages: without the query, which may contain private data. */
function nameOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : messageOf(error);
}
