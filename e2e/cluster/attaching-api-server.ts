import { readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:https';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { WebSocketServer } from 'ws';
import { parse } from 'yaml';

/**
 * Forwards requests to a control plane's API server, and adds the part that needs a kubelet: attaching to a container's
 * standard streams. The API server decides whether the caller may attach.
 */
export async function startAttachingApiServer(
  { kubeconfig, state }: Pick<ControlPlane, 'kubeconfig' | 'state'>,
  { host, port, attach }: { host: string; port: number; attach: (pod: string) => ChildProcess },
): Promise<AsyncDisposable> {
  const [key, cert] = await Promise.all([readFile(join(state, 'tls.key')), readFile(join(state, 'tls.crt'))]);
  const { clusters } = parse(await readFile(kubeconfig, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
  };
  const server = clusters[0]?.cluster.server ?? '';
  const agent = new Agent({ ca: cert });
  const attached = new Set<ChildProcess>();
  const front = createServer({ key, cert }, (incoming, outgoing) => {
    const { method, url = '/', headers } = incoming;
    const passed = request(`${server}${url}`, { agent, method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    outgoing.on('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  const mayAttach = async (token: string, namespace: string, pod: string): Promise<boolean> => {
    const body = JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace, name: pod, verb: 'create', resource: 'pods', subresource: 'attach' } }, // prettier-ignore
    });
    const asked = request(`${server}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`, {
      agent,
      method: 'POST',
      headers: { authorization: token, 'content-type': 'application/json' },
    }).end(body);
    const [response] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
    const text = Buffer.concat(await Array.fromAsync(response)).toString();
    return (JSON.parse(text) as { status?: { allowed?: boolean } }).status?.allowed === true;
  };
  const upgrades = new WebSocketServer({ noServer: true, handleProtocols: () => 'v5.channel.k8s.io' });
  front.on('upgrade', (incoming, socket, head) => {
    const [, namespace = '', pod = ''] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/attach\?/.exec(incoming.url ?? '') ?? []; // prettier-ignore
    void mayAttach(incoming.headers.authorization ?? '', namespace, pod).then((isAllowed) => {
      if (!isAllowed) return socket.end('HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n');
      return upgrades.handleUpgrade(incoming, socket, head, (channel) => {
        const streams = attach(pod);
        attached.add(streams);
        streams.stdout?.on('data', (chunk: Buffer) => channel.send(Buffer.concat([Buffer.of(1), chunk])));
        streams.once('exit', () => channel.close());
        channel.on('message', (message: Buffer) => {
          if (message[0] === 0) streams.stdin?.write(message.subarray(1));
        });
        channel.on('close', () => streams.stdin?.end());
      });
    });
  });
  front.listen(port, host);
  await once(front, 'listening');
  return {
    async [Symbol.asyncDispose]() {
      for (const channel of upgrades.clients) channel.terminate();
      for (const streams of attached) streams.kill('SIGKILL');
      front.close();
      front.closeAllConnections();
      agent.destroy();
    },
  };
}
