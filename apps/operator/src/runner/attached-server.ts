import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unavailable } from '@toolhive/contract/failure';
import type { StartedServer } from '@toolhive/core/single-workload';
import { attach } from '@toolhive/kubernetes/channel';
import { KubernetesClient } from '@toolhive/kubernetes/client';
import type { ObjectName } from '@toolhive/kubernetes/client';
import type { ClusterConfig } from '@toolhive/kubernetes/config';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import type { Logger } from 'pino';

const container = 'mcp';
const firstAnswerMs = 60_000;
const watchSeconds = 290;
const retryMs = 2_000;

type Pod = KubernetesObject & {
  status?: {
    containerStatuses?: { name: string; containerID?: string; state?: { running?: object } }[];
  };
};

/**
 * Attaches to standard input and output of a stdio server in its own pod. The server counts as ended when the
 * connection ends, or when the pod or its container is not the same any more: a connection to a replaced container can
 * stay open without a sign. Throws `unavailable` while the container does not run.
 */
export async function attachToPod(
  config: ClusterConfig,
  pod: ObjectName,
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<StartedServer> {
  await using opened = new AsyncDisposableStack();
  const client = opened.use(new KubernetesClient(config, { userAgent: 'toolhive-proxy-runner' }));
  const identity = await runningContainer(client, pod, signal);
  const over = new AbortController();
  const channel = await attach(config, pod, {
    container,
    signal: AbortSignal.any([signal, over.signal]),
  }).catch((cause: unknown) => {
    throw unavailable(`cannot attach to pod ${pod.name}: ${messageOf(cause)}`, { cause });
  });
  opened.defer(() => over.abort());
  opened.use(channel);
  channel.stderr.on('data', (chunk: Buffer) => log.info({ output: chunk.toString() }, 'server output'));
  const parts = opened.move();
  return {
    id: identity,
    server: { stdio: { input: channel.stdin, output: channel.stdout } },
    startAnother: () => Promise.reject(new Error('a pod has one server')),
    ended: Promise.race([
      channel.ended.then((status) =>
        status === undefined || status.code < 300
          ? 'closed its standard output'
          : `was disconnected: ${status.message}`,
      ),
      untilReplaced(client, { pod, identity, log, signal: over.signal }),
    ]),
    stop: () => parts.disposeAsync(),
    firstAnswerMs,
  };
}

async function runningContainer(
  client: KubernetesClient,
  pod: ObjectName,
  signal: AbortSignal,
): Promise<string> {
  const found = await client.get<Pod>(types.pod, pod, { signal }).catch((cause: unknown) => {
    throw unavailable(`cannot read pod ${pod.name}: ${messageOf(cause)}`, { cause });
  });
  const identity = identityOf(found);
  if (identity === undefined)
    throw unavailable(`container ${container} of pod ${pod.name} is not running yet`);
  return identity;
}

/** The running server container of a pod. Another container of the same pod has another identity. */
function identityOf({ metadata, status }: Pod): string | undefined {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const found = status?.containerStatuses?.find(({ name }) => name === container);
  if (found?.state?.running === undefined) return undefined;
  return `${metadata.uid ?? ''}/${found.containerID ?? ''}`;
}

interface Watched {
  pod: ObjectName;
  identity: string;
  log: Logger;
  signal: AbortSignal;
}

/** Settles when the container is not the same any more. Never settles after an abort. */
async function untilReplaced(
  client: KubernetesClient,
  { pod, identity, log, signal }: Watched,
): Promise<string> {
  const scope = {
    namespace: pod.namespace ?? client.config.namespace,
    fieldSelector: `metadata.name=${pod.name}`,
    signal,
  };
  while (!signal.aborted) {
    try {
      const { items, resourceVersion } = await client.list<Pod>(types.pod, scope);
      if (items.every((item) => identityOf(item) !== identity)) return 'was replaced';
      const changes = client.watch<Pod>(types.pod, {
        ...scope,
        resourceVersion,
        timeoutSeconds: watchSeconds,
      });
      for await (const { type, object } of changes) {
        if (type !== 'BOOKMARK' && (type === 'DELETED' || identityOf(object) !== identity))
          return 'was replaced';
      }
    } catch (error) {
      if (signal.aborted) break;
      log.warn({ pod: pod.name, reason: messageOf(error) }, 'pod cannot be watched');
      await delay(retryMs, undefined, { signal }).catch(() => {}); // aborted, which the loop looks at
    }
  }
  return new Promise(() => {});
}
