import { ThvError } from '@toolhive/contract/failure';
import { ask } from '../transport/readiness.ts';
import type { HttpTransportKind } from '../transport/readiness.ts';
import { UpstreamClient } from '../transport/upstream-client.ts';
import type { RemoteServer } from '../transport/upstream-client.ts';

/** Where a server is talked to, and how. */
export interface FoundEndpoint {
  url: string;
  transport: HttpTransportKind;
}

/** A server that is shown nothing, and is not asked again when it refuses that. */
export function withoutCredentials(url: string): RemoteServer {
  return { kind: 'remote', url, headers: async () => ({}), refused: async () => false };
}

/**
 * Finds out how the server at a URL is talked to, and where, if only its origin is known. Where nothing answers as
 * a server does it is what the URL looks like, so that whoever connects is told what is wrong.
 */
export async function findEndpoint(server: RemoteServer, signal: AbortSignal): Promise<FoundEndpoint> {
  const [first, ...others] = candidates(new URL(server.url));
  for (const candidate of [first, ...others]) if (await isThere(server, candidate, signal)) return candidate;
  return first;
}

/** The likeliest first. A server of the newer transport may stand at any path, one of the older one mostly at `/sse`. */
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
    // One that asks for a token is there, too. A legacy server answers 400 to what it does not expect.
    if (transport === 'sse') return [200, 401, 403].includes(status);
    return status !== 404 && status !== 405 && status < 500;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ThvError) throw error; // it could be asked, but nobody has signed in
    return false;
  }
}
