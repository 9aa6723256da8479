import { invalid } from '@toolhive/contract/failure';
import { openWay } from '@toolhive/outgoing/way-out';
import type { OpenWay } from '@toolhive/proxy/proxy';
import { readChallenge } from './challenge.ts';
import { parseUrl } from './urls.ts';

/** A remote server's access requirements. */
export type RemoteNeed =
  { kind: 'nothing' } | { kind: 'oauth'; wwwAuthenticate: string | undefined } | { kind: 'something else' };

export interface ProbeOptions {
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  /** Opens the connections. By default, to any machine, but never to link-local addresses or cloud metadata. */
  open?: OpenWay;
}

const limitMs = 10_000;

/**
 * Asks a remote server whether it requires a token, with two requests that leave nothing behind: one for streamable
 * HTTP and one for HTTP+SSE. A server that does not answer has no known requirements.
 */
export async function probeRemote(
  address: string,
  { headers = {}, signal, open }: ProbeOptions = {},
): Promise<RemoteNeed> {
  const url = parseUrl(address);
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw invalid('the URL of the remote server is invalid');
  const limit = AbortSignal.timeout(limitMs);
  const either = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  const agent = open?.() ?? openWay(url, { allowPrivate: true });
  try {
    for (const question of questions) {
      const answer = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        signal: either,
        ...question,
        headers: { ...headers, ...question.headers },
      });
      answer.body.on('error', () => {}).destroy(); // only the head says anything, and streams do not end
      if (answer.statusCode === 401) return needOf([answer.headers['www-authenticate']].flat().join(', '));
    }
  } catch (error) {
    if (signal?.aborted) throw error;
  } finally {
    await agent.destroy();
  }
  return { kind: 'nothing' };
}

/** A ping without a session starts none. */
const questions = [
  {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' }),
  },
  { method: 'GET', headers: { accept: 'text/event-stream' } },
] as const;

async function needOf(header: string): Promise<RemoteNeed> {
  const isOAuth = (await readChallenge(header)) !== undefined;
  return isOAuth ? { kind: 'oauth', wwwAuthenticate: header || undefined } : { kind: 'something else' };
}
