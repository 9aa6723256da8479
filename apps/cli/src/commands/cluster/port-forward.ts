import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { conflict, messageOf, unavailable } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import { forwardPort } from '@toolhive/kubernetes/channel';
import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { types } from '@toolhive/kubernetes/object';
import type { KubernetesObject } from '@toolhive/kubernetes/object';
import type { CommandCall } from '../../command.ts';
import { untilAborted } from '../../wait.ts';
import { findServer, inCluster } from './connection.ts';

type Pod = KubernetesObject & { status?: { conditions?: { type: string; status: string }[] } };

const defaultProxyPort = 8080;

/** Forwards a port of this machine to a server's proxy until Ctrl-C. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: [name = ''], flags, out, signal } = call; // prettier-ignore
  await inCluster(call, async (client, namespace) => {
    const { kind, server } = await findServer(client, name, namespace, signal);
    const selector = `app=${kind.app},toolhive-name=${name}`;
    await readyPod(client, name, namespace, selector, signal); // an unready server is an error now, not later
    const port = server.spec.port ?? defaultProxyPort;
    const sockets = new Set<Socket>();
    const listener = createServer((socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      forward(socket).catch((error: unknown) => {
        socket.destroy();
        if (!signal.aborted) out.note(`a connection ended: ${printable(messageOf(error))}`);
      });
    });
    const forward = async (socket: Socket): Promise<void> => {
      // Each connection looks for a pod, so that forwarding survives restarts of the proxy.
      const pod = await readyPod(client, name, namespace, selector, signal);
      await using channel = await forwardPort(client.config, { name: pod, namespace }, { port, signal });
      await Promise.race([
        Promise.all([pipeline(socket, channel.stdin), pipeline(channel.stdout, socket)]),
        channel.ended,
      ]);
    };
    const asked = flags.number('port') ?? 0;
    listener.listen(asked, '127.0.0.1');
    await once(listener, 'listening').catch((error: unknown) => {
      throw conflict(`cannot listen on port ${asked}: ${messageOf(error)}`, { cause: error });
    });
    const { port: local } = listener.address() as AddressInfo; // a TCP server that listens
    const path = server.spec.transport === 'sse' || server.spec.proxyMode === 'sse' ? '/sse' : '/mcp';
    const url = `http://127.0.0.1:${local}${path}`;
    out.record({ name, namespace, url, port: local }, `${name} is at ${url}. Press Ctrl-C to stop.`);
    await untilAborted(signal);
    listener.close();
    for (const socket of sockets) socket.destroy();
  });
}

/** The name of a ready proxy pod. */
async function readyPod(
  client: KubernetesClient,
  name: string,
  namespace: string,
  labelSelector: string,
  signal: AbortSignal,
): Promise<string> {
  const { items } = await client.list<Pod>(types.pod, { namespace, labelSelector, signal });
  const ready = items.find(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined &&
      status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') === true,
  );
  if (ready === undefined) throw unavailable(`the proxy of ${name} has no ready pod`);
  return ready.metadata.name;
}
