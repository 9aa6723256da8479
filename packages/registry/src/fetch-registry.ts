import { ThvError, invalid, timedOut, unavailable } from '@toolhive/contract/failure';
import { fetchJson } from '@toolhive/outgoing/guarded-fetch';
import type { GuardedRequest } from '@toolhive/outgoing/guarded-fetch';
import { isEmptyPage, listPage } from './list-page.ts';
import type { ListPage } from './list-page.ts';
import { maxRegistryDepth, readRegistry } from './read.ts';
import type { Reading } from './read.ts';

/** How to fetch a registry. Tests replace `fetch`. */
export interface FetchOptions {
  allowPrivate: NonNullable<GuardedRequest['allowPrivate']>;
  signal: AbortSignal;
  fetch?: typeof fetchJson;
  /** The headers of the last response. */
  validators?: Validators | undefined;
}

/** The validators that let a server skip unchanged content, and the URL to which they apply. */
interface Validators {
  url: string;
  etag?: string | undefined;
  lastModified?: string | undefined;
}

export interface Fetched extends Reading {
  validators?: Validators;
  /** Why not everything was read. */
  problem?: string;
}

/** How large a document may be, and how long a list is followed. */
export const maxRegistryBytes = 16 * 1024 * 1024;
const listLimits = { pages: 300, servers: 30_000, bytes: 96 * 1024 * 1024 };
const pageSize = 100;
const requestMs = 30_000;
const totalMs = 120_000;

/**
 * Reads the registry at a URL: a document, or a list from an API that is compatible with the MCP registry, given its
 * base URL. Undefined if the registry has not changed.
 */
export async function fetchRegistry(address: string, options: FetchOptions): Promise<Fetched | undefined> {
  const [first, ...others] = candidatesOf(address);
  try {
    return await fetchFrom(first, options);
  } catch (error) {
    if (!mayBeElsewhere(error)) throw error;
    for (const candidate of others) {
      try {
        return await fetchFrom(candidate, options);
      } catch {
        // the given URL has the more informative error
      }
    }
    throw error;
  }
}

/** Where the registry may be. A bare host is an API more often than a document. */
function candidatesOf(address: string): [string, ...string[]] {
  const url = URL.parse(address);
  if (url === null) throw invalid(`${JSON.stringify(address.slice(0, 200))} is not a URL`);
  if (isList(url)) return [listUrl(url)];
  const api = new URL(url);
  api.pathname = `${url.pathname.replace(/\/$/, '')}/v0.1/servers`;
  return url.pathname === '/' ? [listUrl(api), url.href] : [url.href, listUrl(api)];
}

function isList({ pathname }: URL): boolean {
  return /\/v0(?:\.\d+)?\/servers\/?$/.test(pathname);
}

function listUrl(url: URL): string {
  const list = new URL(url);
  if (!list.searchParams.has('limit')) list.searchParams.set('limit', String(pageSize));
  if (!list.searchParams.has('version')) list.searchParams.set('version', 'latest');
  return list.href;
}

/** The server answered, but not with a registry. A server that does not answer is not asked twice. */
function mayBeElsewhere(error: unknown): boolean {
  return error instanceof ThvError && (error.kind === 'not-found' || error.kind === 'invalid');
}

async function fetchFrom(url: string, options: FetchOptions): Promise<Fetched | undefined> {
  const { validators } = options;
  const conditional = validators?.url === url ? headersOf(validators) : {};
  const deadline = performance.now() + totalMs;
  const { status, headers, body, bytes } = await get(url, options, deadline, conditional);
  if (status === 304) return undefined;

  const page = listPage(body);
  if (page?.next === undefined) {
    const problem = page && missingOf(page);
    return {
      ...readRegistry(body),
      ...validatorsOf(url, headers),
      ...(problem === undefined ? {} : { problem }),
    };
  }
  const { servers, problem } = await followPages(url, options, deadline, { ...page, bytes });
  return { ...readRegistry({ servers }), ...(problem === undefined ? {} : { problem }) };
}

/** The problem of a list that names no next page, but more servers than it contains. */
function missingOf({ servers, total = 0 }: ListPage): string | undefined {
  if (total <= servers.length) return undefined;
  return `the list names no next page, and only ${servers.length} of its ${total} servers are known`;
}

/** Reads the rest of a list. What is too long is cut off, and said so. */
async function followPages(
  url: string,
  options: FetchOptions,
  deadline: number,
  first: ListPage & { bytes: number },
): Promise<{ servers: unknown[]; problem?: string }> {
  const servers = [...first.servers];
  const seen = new Set([url]);
  let { bytes } = first;
  let next = addressOf(first, url);
  while (next !== undefined) {
    if (seen.has(next)) throw unavailable('its list refers back to an earlier page');
    seen.add(next);
    if (new URL(next).origin !== new URL(url).origin)
      return {
        servers,
        problem: `the next page of the list is at another host, and only its first ${servers.length} servers are known`,
      };
    if (seen.size > listLimits.pages || servers.length >= listLimits.servers || bytes >= listLimits.bytes) {
      return {
        servers,
        problem: `the list is too long, and only its first ${servers.length} servers are known`,
      };
    }
    const answer = await get(next, options, deadline);
    const page = listPage(answer.body);
    if (page === undefined) {
      // The last page of a list under another name than "servers" can be empty.
      if (isEmptyPage(answer.body)) break;
      throw unavailable('a page of the list is not a list');
    }
    servers.push(...page.servers);
    bytes += answer.bytes;
    next = addressOf(page, next);
  }
  return { servers };
}

/** The address of the page after a page. */
function addressOf({ next }: ListPage, url: string): string | undefined {
  if (next === undefined) return undefined;
  if ('address' in next) return URL.parse(next.address, url)?.href;
  const address = new URL(url);
  address.searchParams.set('cursor', next.cursor);
  return address.href;
}

async function get(
  url: string,
  { allowPrivate, signal, fetch = fetchJson }: FetchOptions,
  deadline: number,
  headers: Record<string, string> = {},
) {
  const left = Math.floor(deadline - performance.now());
  if (left <= 0) throw timedOut(`its list took longer than ${totalMs / 1000} seconds`);
  return fetch(url, {
    allowPrivate,
    signal,
    headers,
    maxBytes: maxRegistryBytes,
    maxDepth: maxRegistryDepth,
    timeoutMs: Math.min(requestMs, left),
  });
}

function headersOf({ etag, lastModified }: Validators): Record<string, string> {
  return {
    ...(etag === undefined ? {} : { 'if-none-match': etag }),
    ...(lastModified === undefined ? {} : { 'if-modified-since': lastModified }),
  };
}

function validatorsOf(url: string, headers: Record<string, unknown>): { validators?: Validators } {
  const text = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  const [etag, lastModified] = [text('etag'), text('last-modified')];
  return etag === undefined && lastModified === undefined ? {} : { validators: { url, etag, lastModified } };
}
