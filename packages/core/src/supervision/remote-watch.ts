import { setTimeout as delay } from 'node:timers/promises';
import type { RemoteServer } from '@toolhive/proxy/proxy';
import { Agent } from 'undici';

const checkingMs = 5_000;
const answerMs = 5_000;
/** A server that is replaced refuses connections for a moment. */
const maxFailures = 3;
/** The statuses with which gateways say that the server behind them is down. */
const downStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Settles when a remote server that has answered does not answer anymore. Never settles after an abort, or for a server
 * that has never answered these requests, because some servers answer MCP requests only. The requests carry no
 * credentials, so every other status counts as an answer.
 */
export async function untilUnavailable(
  { url, open }: Pick<RemoteServer, 'url' | 'open'>,
  signal: AbortSignal,
): Promise<string> {
  let hasAnswered = false;
  let failures = 0;
  while (!signal.aborted) {
    const problem = await problemOf(url, open, signal);
    if (problem === undefined) [hasAnswered, failures] = [true, 0];
    else failures += 1;
    if (hasAnswered && failures >= maxFailures && !signal.aborted) return problem ?? '';
    await delay(checkingMs, undefined, { signal }).catch(() => {}); // aborted, which the loop looks at
  }
  return new Promise(() => {});
}

/** Why a server is not available, as a phrase that continues "the server". A new connection reaches the current address. */
async function problemOf(
  url: string,
  open: RemoteServer['open'],
  signal: AbortSignal,
): Promise<string | undefined> {
  const agent = open?.() ?? new Agent();
  const limited = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
  const { origin, pathname, search } = new URL(url);
  try {
    // OPTIONS starts neither a session nor a stream.
    const request = { origin, path: `${pathname}${search}`, method: 'OPTIONS', signal: limited } as const;
    const { statusCode } = await agent.request(request);
    return downStatuses.has(statusCode) ? `answers with status ${statusCode}` : undefined;
  } catch {
    return 'does not answer';
  } finally {
    await agent.destroy();
  }
}
