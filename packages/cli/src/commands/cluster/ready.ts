import { setTimeout as delay } from 'node:timers/promises';
import { notFound, timedOut, unavailable } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { ApiStatus, isGone } from '@toolhive/kubernetes/status';
import { withinLimit } from '../../wait.ts';
import { serverKind } from './connection.ts';
import type { ServerObject } from './connection.ts';

const readyMs = 5 * 60_000;
const watchSeconds = 60;
/** The waits before the next list after watches that ended early, which a proxy in front of the API server can cause. */
const firstBackoffMs = 250;
const maxBackoffMs = 5_000;
/** A watch of this length has worked. */
const longWatchMs = 10_000;

export interface Awaited {
  name: string;
  namespace: string;
  /** Receives each new message of the operator. */
  report: (message: string) => void;
  signal: AbortSignal;
}

/**
 * Waits until the operator reports that an MCPServer is ready. Throws `unavailable` if the server has failed, and
 * `timeout` after five minutes. The server stays in the cluster.
 */
export async function untilReady(
  client: KubernetesClient,
  { name, namespace, report, signal }: Awaited,
): Promise<void> {
  let last = 'the operator has not reported a status';
  const isReady = ({ status }: ServerObject): boolean => {
    const message = printable(status?.message ?? '');
    if (status?.phase === 'Failed')
      throw unavailable(`MCPServer ${name} has failed: ${message}`, {
        hint: `correct the cause, or run kubectl delete mcpserver ${name} --namespace ${namespace}`,
      });
    if (message !== '' && message !== last) report((last = message));
    return status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true;
  };
  await withinLimit(
    readyMs,
    signal,
    (over) => follow(client, { name, namespace, signal: over }, isReady),
    () => timedOut(`MCPServer ${name} is not ready after 5 minutes: ${last}`),
  );
}

/** Looks at the current object and at each change, until the check succeeds. */
async function follow(
  client: KubernetesClient,
  { name, namespace, signal }: Omit<Awaited, 'report'>,
  isDone: (server: ServerObject) => boolean,
): Promise<void> {
  const scope = { namespace, fieldSelector: `metadata.name=${name}`, signal };
  for (let early = 0; ; early += 1) {
    if (early > 0)
      await delay(Math.min(firstBackoffMs * 2 ** (early - 1), maxBackoffMs), undefined, { signal });
    const startedAt = performance.now();
    const { items, resourceVersion } = await client.list<ServerObject>(serverKind, scope);
    const [current] = items;
    if (current === undefined) throw notFound(`MCPServer ${name} was deleted`);
    if (isDone(current)) return;
    try {
      const changes = client.watch<ServerObject>(serverKind, {
        ...scope,
        resourceVersion,
        timeoutSeconds: watchSeconds,
      });
      for await (const { type, object } of changes) {
        if (type === 'DELETED') throw notFound(`MCPServer ${name} was deleted`);
        if (type !== 'BOOKMARK' && isDone(object)) return;
      }
    } catch (error) {
      // An old version and a broken connection need a new list, which fails if the cluster cannot be reached.
      const isBroken = !(error instanceof ApiStatus) && (error as NodeJS.ErrnoException).code !== undefined;
      if (signal.aborted || !(isGone(error) || isBroken)) throw error;
    }
    if (performance.now() - startedAt >= longWatchMs) early = 0;
  }
}
