import { Readable } from 'node:stream';
import { openWay } from '@toolhive/outgoing/way-out';
import type { GuardedRequest } from '@toolhive/outgoing/guarded-fetch';
import type { GitHttpRequest, GitHttpResponse, HttpClient } from 'isomorphic-git';
import type { Dispatcher } from 'undici';

/** Which connections a transfer may make, and how much may arrive. */
export interface TransportLimits {
  reach: GuardedRequest['allowPrivate'];
  maxBytes: number;
  signal: AbortSignal;
}

const MAX_REDIRECTS = 5;
const ANSWER_MS = 30_000;

/** An HTTP client for Git that checks the address of every connection, also after redirects, and counts the bytes. */
export function gitTransport({ reach, maxBytes, signal }: TransportLimits): HttpClient & AsyncDisposable {
  const agents = new Map<string, Dispatcher>();
  const agentFor = (url: URL): Dispatcher => {
    const known = agents.get(url.origin);
    if (known !== undefined) return known;
    const limits = { headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS };
    const agent = openWay(url, { allowPrivate: reach, ...limits });
    agents.set(url.origin, agent);
    return agent;
  };
  let received = 0;
  async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncIterableIterator<Uint8Array> {
    for await (const chunk of chunks) {
      received += chunk.length;
      if (received > maxBytes) throw new Error(`the repository is larger than ${maxBytes} bytes`);
      yield chunk;
    }
  }
  return {
    async request(request: GitHttpRequest): Promise<GitHttpResponse> {
      const { method = 'GET', headers = {}, body } = request;
      let url = new URL(request.url);
      for (let redirects = 0; ; redirects += 1) {
        const response = await agentFor(url).request({
          origin: url.origin,
          path: `${url.pathname}${url.search}`,
          method,
          headers,
          signal,
          ...(body === undefined ? {} : { body: Readable.from(body) }),
        });
        const { location } = response.headers;
        const isRedirect = response.statusCode >= 301 && response.statusCode <= 308;
        if (!isRedirect || typeof location !== 'string') {
          return {
            url: url.href,
            method,
            headers: flat(response.headers),
            body: counted(response.body as AsyncIterable<Uint8Array>),
            statusCode: response.statusCode,
            statusMessage: '',
          };
        }
        await response.body.dump();
        const next = new URL(location, url);
        if (body !== undefined) throw new Error(`the repository has moved to ${next.origin}${next.pathname}`);
        if (redirects >= MAX_REDIRECTS) throw new Error('the Git server redirects too often');
        const isDowngrade = url.protocol === 'https:' && next.protocol !== 'https:';
        if (isDowngrade || !/^https?:$/.test(next.protocol)) {
          throw new Error(`the Git server redirects to ${next.protocol}`);
        }
        url = next;
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(agents.values().map((agent) => agent.destroy()));
    },
  };
}

function flat(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
}
