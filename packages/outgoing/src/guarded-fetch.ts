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
import type { Dispatcher } from 'undici';
import { isLoopback } from '@toolhive/contract/loopback';
import { parseJson } from '@toolhive/contract/json-text';
import { openWay } from './way-out.ts';
import type { Reach } from './way-out.ts';

export interface GuardedRequest extends Reach {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  body?: string;
  /** Plain `http` is fine, as with `allowPrivate`, but no private address. */
  allowHttp?: boolean;
  /** Whether to follow redirects, which is the default. If false, returns the redirect response. */
  followRedirects?: boolean;
  /** How much may come back, before and after decompression. */
  maxBytes?: number;
  /** For everything together: names, redirects, the whole body. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Receives the body of an answer with the status 200 as it is. */
  receive?: (content: AsyncIterable<Uint8Array>) => Promise<void>;
  /** Whether plain http is refused even where private addresses are fine. */
  isHttpsOnly?: boolean;
}

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
 * dialing, so no name can lead to this machine or its network. Behind a corporate proxy, checks what this machine knows about
 * the name (`way-out.ts`). Every failure is a `ThvError` that does not quote the response.
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

/**
 * Passes the body behind an https URL to `receive` while it arrives. The receiver limits
 * the size.
 */
export async function guardedDownload(
  address: string,
  receive: (content: AsyncIterable<Uint8Array>) => Promise<void>,
  request: Pick<GuardedRequest, keyof Reach | 'timeoutMs' | 'signal'>,
): Promise<void> {
  checkUrl(address, {}); // never plain http, whatever addresses are allowed
  const { url, status } = await guardedFetch(address, { ...request, receive, isHttpsOnly: true });
  const name = nameOf(new URL(url));
  if (status === 404 || status === 410) throw notFound(`${name} not found`, { hint: 'check the URL' });
  if (status !== 200) throw unavailable(`${name} returned status ${status}`);
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
  const agent = openWay(url, { ...request, maxHeaderSize: maxHeaderBytes });
  try {
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      headers: {
        'accept-encoding': request.receive === undefined ? 'gzip, br' : 'identity',
        ...request.headers,
      },
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
    if (request.receive !== undefined) {
      if (status === 200) await request.receive(response.body);
      return { status, url: url.href, headers, text: '', bytes: 0 };
    }
    const read = await readText(response, maxBytes, nameOf(url), signal);
    return { status, url: url.href, headers, ...read };
  } finally {
    await agent.destroy();
  }
}

/** Checks a URL before its use. `from` is the redirecting URL. */
function checkUrl(
  address: string,
  { allowPrivate = false, allowHttp = false, isHttpsOnly = false }: GuardedRequest,
  from?: URL,
): URL {
  const url = URL.parse(address, from?.href);
  if (url === null) throw invalid(`${JSON.stringify(address.slice(0, 200))} is not a URL`);
  if (url.username !== '' || url.password !== '') {
    throw invalid(`the URL of ${url.host} contains a user name or a password`);
  }
  if (url.protocol === 'https:') return url;
  if (url.protocol !== 'http:') throw invalid(`${nameOf(url)} is neither https nor http`);
  if (from?.protocol === 'https:') throw forbidden(`${nameOf(from)} redirects to plain http`);
  if (isHttpsOnly || (allowPrivate === false && !allowHttp)) throw forbidden(`${nameOf(url)} is not https`);
  return url;
}

const isHere = ({ hostname }: URL): boolean => isLoopback(hostname.replace(/^\[|\]$/g, ''));

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
