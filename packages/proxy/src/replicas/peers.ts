import { createHash, hkdfSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, createServer as createTlsServer } from 'node:tls';
import type { Server as TlsServer, TLSSocket } from 'node:tls';
import { Pool } from 'undici';
import type { Dispatcher, buildConnector } from 'undici';
import { raiseFault } from '@toolhive/contract/fault';
import type { SealKeys } from '../sealing/seal.ts';
import { keepContext, serveConnections } from '../http/connections.ts';
import type { ConnectionLimits } from '../http/connections.ts';
import { hopHeaders } from '../http/hop-headers.ts';
import { replyText } from '../http/reply.ts';
import { PassThrough } from '../upstream/forwarder.ts';

export interface PeerOptions {
  keys: SealKeys;
  /** The address to bind to. */
  host: string;
  port: number;
  /** The host by which other proxies reach this one. */
  advertised: string;
}

/** A request that another proxy relays. */
export interface PeerRequest {
  /** The client's address, as the other proxy sees it. */
  clientAddress: string | undefined;
  /** The server that the request is for, if that is not in its session ID. */
  pod: string | undefined;
}

/** What a proxy relays besides the client's headers. */
export interface RelayOptions {
  /** The body, if it was read already. */
  body?: string;
  /** The server that the request is for. */
  pod?: string;
}

const ownerHeader = 'x-toolhive-owner';
const clientHeader = 'x-toolhive-client';
const podHeader = 'x-toolhive-pod';
const ownHeaders: readonly string[] = [ownerHeader, clientHeader, podHeader];
/** The pre-shared key proves to both sides that the other one is a peer, and needs no certificates. */
const cipher = {
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
} as const;
/** Pods are near, so a proxy that takes longer has ended with its node. */
const connectMs = 2_000;
/** How long an answer of a proxy, or its silence, holds. */
const aliveMs = 1_000;
const goneMs = 10_000;
const maxPeers = 64;

/** Another proxy in front of the same server. */
interface Peer {
  pool: Pool;
  instance: string;
  isAlive: Promise<boolean>;
  untilMs: number;
}

/**
 * The other proxies in front of the same server. A proxy relays requests for sessions that another proxy holds to that proxy. Both
 * prove that they have the workload's key, so a stranger with the address of an ended peer sees no request.
 */
export class Peers implements AsyncDisposable {
  /** Names this proxy and its address for the others. */
  readonly self: string;
  readonly #keys: SealKeys;
  readonly #tls: TlsServer;
  /** The connections of other proxies. */
  readonly #sockets = new Set<TLSSocket>();
  readonly #peers = new Map<string, Peer>();

  private constructor(options: PeerOptions, tls: TlsServer) {
    this.#keys = options.keys;
    this.#tls = tls;
    tls.on('secureConnection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    const { port } = tls.address() as AddressInfo; // it listens on TCP
    const host = options.advertised.includes(':') ? `[${options.advertised}]` : options.advertised;
    this.self = `${randomUUID()}@${host}:${port}`;
  }

  /** Opens the port. `answer` takes the requests that other proxies relay. */
  static async open(
    options: PeerOptions,
    limits: ConnectionLimits,
    answer: (request: IncomingMessage, response: ServerResponse, peer: PeerRequest) => void,
  ): Promise<Peers> {
    const http = createServer({ keepAliveTimeout: 65_000 });
    const tls = createTlsServer(
      {
        ...cipher,
        pskCallback: (_socket, identity) =>
          options
            .keys()
            .map((key) => sharedKey(key))
            .find((one) => one.identity === identity)?.psk ?? null,
      },
      (socket) => http.emit('connection', socket),
    );
    tls.on('tlsClientError', () => {}); // a stranger
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    tls.once('error', reject).listen({ host: options.host, port: options.port }, resolve);
    await promise;
    tls.off('error', reject).on('error', () => {}); // one connection could not be accepted
    const peers = new Peers(options, tls);
    keepContext(http);
    serveConnections(http, limits, {
      answer(request, response) {
        const { [ownerHeader]: owner, [clientHeader]: client, [podHeader]: pod } = request.headers;
        // The address may belong to another one by now.
        if (owner !== peers.self) return replyText(response, 421, 'another proxy has this address now');
        if (request.method === 'HEAD') return replyText(response, 200, '');
        for (const name of ownHeaders) delete request.headers[name];
        request.rawHeaders = withoutOurs(request.rawHeaders);
        answer(request, response, { clientAddress: textOf(client), pod: textOf(pod) });
      },
    });
    return peers;
  }

  /** Relays a request to the proxy that holds its session. Returns false if that proxy has ended. */
  async relay(
    owner: string,
    request: IncomingMessage,
    response: ServerResponse,
    { body, pod }: RelayOptions = {},
  ): Promise<boolean> {
    const peer = this.#peerOf(owner);
    if (!(await peer.isAlive)) return false;
    if (response.destroyed) return true; // the client is gone
    const headers = relayedHeaders(request, body);
    headers.push(ownerHeader, owner, clientHeader, request.socket.remoteAddress ?? '');
    if (pod !== undefined) headers.push(podHeader, pod);
    const options: Dispatcher.DispatchOptions = {
      origin: originOf(owner),
      method: request.method as Dispatcher.HttpMethod, // node:http accepts no others than undici sends
      path: request.url ?? '/',
      headers,
      body: body ?? (request.method === 'POST' ? request : null),
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    peer.pool.dispatch(options, new PassThrough(response));
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#tls.close(() => resolve());
    for (const socket of this.#sockets) socket.destroy();
    for (const { pool } of this.#peers.values()) await pool.destroy();
    await promise;
  }

  #peerOf(owner: string): Peer {
    const known = this.#peers.get(owner);
    if (known !== undefined && known.untilMs > performance.now()) return known;
    const pool = known?.pool ?? this.#openPool(owner);
    // A connection that ends may be the first sign of the end of a proxy.
    if (known === undefined) pool.on('disconnect', () => this.#doubt(owner));
    const isAlive = answers(pool, owner);
    const peer: Peer = { pool, instance: owner, isAlive, untilMs: performance.now() + aliveMs };
    isAlive.then((alive) => (peer.untilMs += alive ? 0 : goneMs)).catch(raiseFault);
    this.#peers.delete(owner);
    this.#peers.set(owner, peer);
    const [oldest] = this.#peers.values();
    if (this.#peers.size > maxPeers && oldest !== undefined) {
      this.#peers.delete(oldest.instance);
      void oldest.pool.close().catch(() => {}); // it ends with its last request
    }
    return peer;
  }

  #doubt(owner: string): void {
    const peer = this.#peers.get(owner);
    if (peer !== undefined) peer.untilMs = 0;
  }

  #openPool(owner: string): Pool {
    return new Pool(originOf(owner), { connect: connectorWith(this.#keys) });
  }
}

async function answers(pool: Pool, owner: string): Promise<boolean> {
  try {
    const { statusCode, body } = await pool.request({
      method: 'HEAD',
      path: '/',
      headers: { [ownerHeader]: owner },
      headersTimeout: connectMs,
      signal: AbortSignal.timeout(2 * connectMs),
    });
    body.on('error', () => {}).resume();
    return statusCode === 200;
  } catch {
    return false; // ended, not reachable, or a stranger
  }
}

function connectorWith(keys: SealKeys): buildConnector.connector {
  return ({ hostname, port }, done) => {
    const [key] = keys();
    if (key === undefined) throw new Error('a proxy needs a key for the others');
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    const socket = connect({
      ...cipher,
      host,
      port: Number(port),
      pskCallback: () => sharedKey(key),
      checkServerIdentity: () => undefined, // the key is the identity
      timeout: connectMs,
    });
    const failed = (error: Error): void => done(error, null);
    socket.once('error', failed);
    socket.once('timeout', () => socket.destroy(new Error('the proxy does not answer')));
    socket.once('secureConnect', () => {
      socket.off('error', failed);
      socket.setTimeout(0);
      done(null, socket);
    });
  };
}

/** Derives the key for connections from a key for session IDs. */
function sharedKey(key: Uint8Array): { psk: Buffer; identity: string } {
  const psk = Buffer.from(hkdfSync('sha256', key, '', 'toolhive peers', 32));
  return { psk, identity: createHash('sha256').update('identity').update(psk).digest('hex').slice(0, 16) };
}

function originOf(owner: string): string {
  return `http://${owner.slice(owner.indexOf('@') + 1)}`;
}

function relayedHeaders({ rawHeaders }: IncomingMessage, body: string | undefined): string[] {
  const kept: string[] = [];
  const all = withoutOurs(rawHeaders);
  for (let i = 0; i + 1 < all.length; i += 2) {
    const [name, value] = [all[i] as string, all[i + 1] as string]; // raw headers come in pairs
    const key = name.toLowerCase();
    const isOther = body !== undefined && key === 'content-length';
    if ((key === 'host' || !hopHeaders.has(key)) && !isOther) kept.push(name, value);
  }
  return kept;
}

/** Returns headers without those that only proxies send each other. */
function withoutOurs(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name, value] = [rawHeaders[i] as string, rawHeaders[i + 1] as string]; // raw headers come in pairs
    if (!ownHeaders.includes(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}

function textOf(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
