import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { parse } from 'yaml';

/** The work of a kubelet: access to running containers. A part that is missing is refused. */
export interface Kubelet {
  /** Connects to a container's standard streams. */
  attach?: (pod: string) => ChildProcess;
  /** Writes a container's log. */
  logs?: (pod: string, query: URLSearchParams, response: ServerResponse) => void;
}

export interface KubeletApiServer extends AsyncDisposable {
  /** The URL of the API server. Its certificate is the same. */
  url: string;
}

/** The resource for which the caller needs a permission, by the last part of the path. */
const verbs: Readonly<Record<string, string>> = { attach: 'create', log: 'get' };

/**
 * Forwards requests to a control plane's API server, and adds the part that needs a kubelet. The API server decides
 * whether the caller has the permission.
 */
export async function startKubeletApiServer(
  { kubeconfig, state }: Pick<ControlPlane, 'kubeconfig' | 'state'>,
  { host = '127.0.0.1', port = 0, kubelet }: { host?: string; port?: number; kubelet: Kubelet },
): Promise<KubeletApiServer> {
  const [key, cert] = await Promise.all([readFile(join(state, 'tls.key')), readFile(join(state, 'tls.crt'))]);
  const { clusters } = parse(await readFile(kubeconfig, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
  };
  const server = clusters[0]?.cluster.server ?? '';
  const agent = new Agent({ ca: cert });
  const opened = new Set<ChildProcess>();

  const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { method, url = '/', headers } = incoming;
    const passed = request(`${server}${url}`, { agent, method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  };
  const isAllowed = async (
    { headers }: IncomingMessage,
    { namespace, pod, subresource }: Asked,
  ): Promise<boolean> => {
    const verb = verbs[subresource];
    const body = JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace, name: pod, verb, resource: 'pods', subresource } },
    });
    const asked = request(`${server}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`, {
      agent,
      method: 'POST',
      headers: { authorization: headers.authorization, 'content-type': 'application/json' },
    }).end(body);
    const [response] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
    const text = Buffer.concat(await Array.fromAsync(response)).toString();
    return (JSON.parse(text) as { status?: { allowed?: boolean } }).status?.allowed === true;
  };

  const front = createServer({ key, cert }, (incoming, outgoing) => {
    const asked = askedIn(incoming);
    const { logs } = kubelet;
    if (asked?.subresource !== 'log' || logs === undefined) return pass(incoming, outgoing);
    return void isAllowed(incoming, asked).then((allowed) =>
      allowed ? logs(asked.pod, asked.query, outgoing) : outgoing.writeHead(403).end('{}'),
    );
  });
  const upgrades = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => [...offered][0] ?? false,
  });
  front.on('upgrade', (incoming, socket, head) => {
    const asked = askedIn(incoming);
    const serve = async (): Promise<void> => {
      const allowed = asked !== undefined && (await isAllowed(incoming, asked));
      const { attach } = kubelet;
      const connect =
        asked?.subresource === 'attach' && attach !== undefined
          ? (channel: WebSocket) => opened.add(attachTo(channel, attach(asked.pod)))
          : undefined;
      if (!allowed || connect === undefined)
        return void socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n');
      upgrades.handleUpgrade(incoming, socket, head, connect);
    };
    serve().catch(() => socket.destroy());
  });
  front.listen(port, host);
  await once(front, 'listening');
  return {
    url: `https://${host}:${(front.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const channel of upgrades.clients) channel.terminate();
      for (const streams of opened) streams.kill('SIGKILL');
      front.close();
      front.closeAllConnections();
      agent.destroy();
    },
  };
}

interface Asked {
  namespace: string;
  pod: string;
  subresource: string;
  query: URLSearchParams;
}

function askedIn({ url = '/' }: IncomingMessage): Asked | undefined {
  const { pathname, searchParams: query } = new URL(url, 'https://localhost');
  const [, namespace, pod, subresource] =
    /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/(attach|log)$/.exec(pathname) ?? [];
  if (namespace === undefined || pod === undefined || subresource === undefined) return undefined;
  return { namespace, pod, subresource, query };
}

function attachTo(channel: WebSocket, streams: ChildProcess): ChildProcess {
  streams.stdout?.on('data', (chunk: Buffer) => channel.send(Buffer.concat([Buffer.of(1), chunk])));
  streams.stdin?.on('error', () => {}); // the container ends while something arrives
  streams.once('exit', () => channel.close());
  channel.on('message', (message: Buffer) => {
    if (message[0] === 0) streams.stdin?.write(message.subarray(1));
  });
  channel.on('close', () => streams.stdin?.end());
  return streams;
}
