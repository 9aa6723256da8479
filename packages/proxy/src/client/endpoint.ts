import { ThvError } from '@toolhive/contract/failure';
import { ask } from '../transport/readiness.ts';
import type { HttpTransportKind } from '../transport/readiness.ts';
import { UpstreamClient } from '../transport/upstream-client.ts';
import type { RemoteServer } from '../transport/upstream-client.ts';

/** The URL and the transport of a server. */
export interface FoundEndpoint {
  url: string;
  transport: HttpTransportKind;
}

/** Returns a server that gets no credentials. */
export function withoutCredentials(url: string): RemoteServer {
  return { kind: 'remote', url, headers: async () => ({}), refused: async () => false };
}

/**
 * Detects the transport of the server at a URL, and the path if the URL has none. If the server does not answer, the
 * result is a guess from the URL, so that the connection reports the error.
 */
export async function findEndpoint(server: RemoteServer, signal: AbortSignal): Promise<FoundEndpoint> {
  const [first, ...others] = candidates(new URL(server.url));
  for (const candidate of [first, ...others]) if (await isThere(server, candidate, signal)) return candidate;
  return first;
}

/** The most likely first. Streamable HTTP may be at any path, HTTP+SSE is mostly at `/sse`. */
function candidates(url: URL): [FoundEndpoint, ...FoundEndpoint[]] {
  const at = (path: string, transport: HttpTransportKind): FoundEndpoint => ({
    url: new URL(`${path}${url.search}`, url).href,
    transport,
  });
  const own = url.pathname;
  if (own === '/') return [at('/mcp', 'streamable-http'), at('/sse', 'sse'), at('/', 'streamable-http')];
  const both = [at(own, 'streamable-http'), at(own, 'sse')] as const;
  return own.endsWith('/sse') ? [both[1], both[0]] : [both[0], both[1]];
}

async function isThere(
  server: RemoteServer,
  { url, transport }: FoundEndpoint,
  signal: AbortSignal,
): Promise<boolean> {
  await using endpoint = new UpstreamClient({ ...server, url }, '');
  try {
    const { status } = await ask(endpoint, transport, signal);
    // A server that requires a token exists too. A legacy server answers 400 to an unexpected request.
    if (transport === 'sse') return [200, 401, 403].includes(status);
    return status !== 404 && status !== 405 && status < 500;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ThvError) throw error; // the server could be reached, but the user has not signed in
    return false;
  }
}
