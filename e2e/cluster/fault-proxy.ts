import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { ControlPlane } from '@toolhive/operator/testing/control-plane';
import { parse } from 'yaml';

/**
 * A fault between a client and the API server: an answer in place of the API server's, connections that end at once,
 * connections that stay open without any bytes, even after the fault has ended, or watches that end within an event.
 */
export type Fault =
  | { kind: 'answer'; code: number; headers?: Record<string, string> }
  | { kind: 'drop' }
  | { kind: 'silence' }
  | { kind: 'cut' };

/** So many bytes of a watch pass. Each event is larger. */
const CUT_BYTES = 20;

/** A proxy in front of the API server. */
export interface FaultProxy extends AsyncDisposable {
  url: string;
  /** Starts a fault, which also affects the connections that are open. */
  start: (fault: Fault) => void;
  /** Ends the fault. */
  end: () => void;
  /** How many requests or connections the current fault has affected. */
  readonly affected: number;
}

/** Starts a proxy without a fault. */
export async function startFaultProxy(cluster: ControlPlane): Promise<FaultProxy> {
  const [key, cert, kubeconfig] = await Promise.all(
    ['tls.key', 'tls.crt', 'admin.kubeconfig'].map((name) => readFile(join(cluster.state, name), 'utf8')),
  );
  const config = parse(kubeconfig ?? '') as { clusters: { cluster: { server: string } }[] };
  const target = new URL(config.clusters[0]?.cluster.server ?? '');
  const agent = new Agent({ keepAlive: true, ca: cert });
  const sockets = new Set<Duplex>();
  const dead = new WeakSet<Duplex>();
  const streams = new Map<IncomingMessage, ServerResponse>();
  let fault: Fault | undefined;
  let affected = 0;

  const forward = (incoming: IncomingMessage, response: ServerResponse): void => {
    const { hostname: host, port } = target;
    const { method, url: path, headers } = incoming;
    const outgoing = request({ host, port, method, path, headers, agent }, (answer) => {
      if (dead.has(incoming.socket)) {
        answer.resume();
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
      if (fault?.kind === 'cut' && /[?&]watch=true/.test(path ?? '')) {
        answer.once('data', (chunk: Buffer) => {
          affected += 1;
          response.write(chunk.subarray(0, CUT_BYTES), () => incoming.socket.destroy());
          outgoing.destroy();
        });
        return;
      }
      answer.pipe(response);
      streams.set(answer, response);
      answer.once('close', () => {
        streams.delete(answer);
        if (!answer.complete && !dead.has(incoming.socket)) response.destroy();
      });
    });
    outgoing.on('error', () => response.destroy());
    response.once('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  };

  const server = createServer({ key, cert }, (incoming, response) => {
    if (dead.has(incoming.socket)) {
      affected += 1;
      incoming.resume();
    } else if (fault?.kind === 'answer') {
      affected += 1;
      incoming.resume();
      response.writeHead(fault.code, fault.headers).end();
    } else {
      forward(incoming, response);
    }
  });
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    if (fault?.kind === 'silence') dead.add(socket);
    if (fault?.kind !== 'drop') return;
    affected += 1;
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    start(next) {
      fault = next;
      affected = 0;
      for (const socket of sockets) {
        if (next.kind === 'silence') dead.add(socket);
        else socket.destroy();
      }
      if (next.kind !== 'silence') return;
      for (const [answer, response] of streams) answer.unpipe(response).resume();
    },
    end() {
      fault = undefined;
    },
    get affected() {
      return affected;
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      server.close();
      for (const socket of sockets) socket.destroy();
      if (server.listening) await once(server, 'close');
    },
  };
}
