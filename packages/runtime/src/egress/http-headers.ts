import type { IncomingMessage } from 'node:http';
import { hopHeaders } from '../hop-headers.ts';

/** The headers of a request that is passed on. The body keeps its framing, so that a server reads exactly this one request. */
export function requestHeaders({ rawHeaders, headers }: IncomingMessage, host: string): string[] {
  const isChunked = headers['transfer-encoding'] !== undefined;
  return [
    ...withoutHopHeaders(rawHeaders),
    'Host',
    host,
    ...(isChunked ? ['Transfer-Encoding', 'chunked'] : []),
  ];
}

/**
 * The headers of a message that are for its receiver, as alternating names and values. The length of the body always is, whatever
 * the sender says: without it, the receiver would take the body of a request for the next request.
 */
export function withoutHopHeaders(raw: readonly string[]): string[] {
  const named = new Set(
    raw.flatMap((name, index) =>
      index % 2 === 0 && name.toLowerCase() === 'connection'
        ? (raw[index + 1] ?? '').split(',').map((item) => item.trim().toLowerCase())
        : [],
    ),
  );
  const kept: string[] = [];
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? '';
    const folded = name.toLowerCase();
    const isOfHop = hopHeaders.has(folded) || (named.has(folded) && folded !== 'content-length');
    if (!isOfHop) kept.push(name, raw[index + 1] ?? '');
  }
  return kept;
}
