import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { StartedServer } from '@toolhive/core/single-workload';

const firstAnswerMs = 60_000;
const checkingMs = 2_000;
const connectMs = 5_000;
/** A server that is restarted or moved refuses connections for a moment. */
const maxFailures = 3;

/** A server that listens in its own pod. The server counts as ended while it does not accept connections. */
export function reachHttpServer({ host, port }: { host: string; port: number }): StartedServer {
  const over = new AbortController();
  return {
    id: `http://${host}:${port}`,
    server: { address: { kind: 'tcp', host, port, targetPort: port } },
    startAnother: () => Promise.reject(new Error('a server in its own pod is not started from here')),
    ended: untilUnreachable(host, port, over.signal),
    async stop() {
      over.abort();
    },
    firstAnswerMs,
  };
}

/** Settles when a server does not accept connections. Never settles after an abort. */
async function untilUnreachable(host: string, port: number, signal: AbortSignal): Promise<string> {
  let failures = 0;
  while (!signal.aborted) {
    const isAccepted = await accepts(host, port);
    failures = isAccepted ? 0 : failures + 1;
    if (failures >= maxFailures) return 'does not accept connections';
    await delay(checkingMs, undefined, { signal }).catch(() => {}); // aborted, which the loop looks at
  }
  return new Promise(() => {});
}

/** Whether a program accepts connections at an address. */
export async function accepts(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  socket.on('error', () => {});
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(connectMs) });
    return true;
  } catch {
    return false; // the caller counts failures
  } finally {
    socket.destroy();
  }
}
