import { AsyncLocalStorage } from 'node:async_hooks';
import type { Socket as Datagrams, RemoteInfo } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import type { Egress } from '../egress.ts';
import type { Destination, Verdict } from '../outbound-rules.ts';
import { type Query, addressData, addressInReverse, nameData, parseQuery } from './dns.ts';
import { recordType, responseCode, responseTo } from './dns.ts';
import { Names, isSynthetic } from './names.ts';
import { type ConnectionLimits, connectionLimits } from './connection-limiter.ts';
import { ConnectionPlaces, Connections } from './connection-places.ts';
import { type CorporateProxies, isBehindProxy, proxyOf, quickly } from './corporate.ts';
import { LocalPorts } from './local-ports.ts';
import { Refused, addressesOf, isOfNetwork, join, reach, requireNamed } from './outbound.ts';
import { takeConnections, tellAtEnd, verdictOn } from './outbound.ts';
import type { Resolve } from './resolver.ts';

/** The sockets that the programs of one server reach. */
export interface GatewaySockets {
  /** UDP and TCP for name lookups. */
  datagrams: Datagrams;
  lookups: Server;
  /** One for each port that the server can connect to, unless it shares them with others. */
  listeners: readonly Server[];
  /** For the local ports that the server reaches at its own loopback addresses. */
  local?: readonly Server[];
}

const MAX_LOOKUPS = 128;
const MAX_LOOKUP_CONNECTIONS = 32;
const LOOKUP_CONNECTION_MS = 10_000;
/** Longer than any query with one question and its options. */
const MAX_QUERY_BYTES = 4096;
/** Of responses, after which a client that reads none is cut off. */
const MAX_UNREAD_BYTES = 64 * 1024;

export interface GatewayOptions {
  sockets: GatewaySockets;
  egress: Pick<Egress, 'rules' | 'record'>;
  resolve: Resolve;
  /** Receives mistakes of this program, which end only this gateway. */
  onFault: (error: unknown) => void;
  /** Names with the addresses that programs of the server may still use. */
  names?: readonly (readonly [name: string, address: string])[];
  /** Receives each new name. */
  onName?: (name: string, address: string) => void;
  places?: ConnectionPlaces;
  limits?: ConnectionLimits;
  /** Decides about local ports. By default, there are none. */
  mayReachLocal?: (port: number) => Promise<boolean>;
  /** By default, there are none. */
  proxies?: CorporateProxies | undefined;
}

/**
 * A server's only route to the network. It answers lookups of allowed names with synthetic addresses, and forwards
 * connections to the real hosts. It checks the name, the port, the name in the first bytes, and the real address of
 * each connection. It refuses everything else immediately.
 */
export class EgressGateway implements Disposable {
  readonly #egress: GatewayOptions['egress'];
  readonly #resolve: Resolve;
  readonly #sockets: GatewaySockets;
  readonly #onFault: GatewayOptions['onFault'];
  readonly #proxies: CorporateProxies;
  readonly #connections: Connections;
  readonly #localPorts: LocalPorts;
  readonly #names: Names;
  #lookups = 0;
  #isClosed = false;

  constructor(options: GatewayOptions) {
    const { sockets, egress, resolve, onFault, names, onName, proxies } = options;
    const { places = new ConnectionPlaces(Number.POSITIVE_INFINITY), limits = connectionLimits } = options;
    this.#sockets = sockets;
    this.#egress = egress;
    this.#resolve = resolve;
    this.#onFault = onFault;
    this.#connections = new Connections(places);
    this.#proxies = proxies ?? { variables: {} };
    this.#names = new Names((name) => this.#connections.isInUse(name), { known: names, onName });
    const { datagrams, lookups, listeners } = sockets;
    // The kernel reports errors of single datagrams or connections. The socket goes on, or closes.
    for (const socket of [datagrams, lookups, ...listeners]) socket.on('error', () => {});
    const look = AsyncLocalStorage.bind((packet: Buffer, { port, address }: RemoteInfo) => {
      this.#answerDatagram(packet, port, address).catch(onFault);
    });
    datagrams.on('message', look);
    const answer = AsyncLocalStorage.bind((client: Socket) => {
      this.#answerStream(client).catch(onFault);
    });
    lookups.maxConnections = MAX_LOOKUP_CONNECTIONS;
    lookups.on('connection', answer);
    for (const listener of listeners) takeConnections(listener, this.accept);
    this.#localPorts = new LocalPorts({
      listeners: sockets.local ?? [],
      egress,
      connections: this.#connections,
      limits,
      mayReach: options.mayReachLocal ?? (async () => false),
      onFault,
    });
  }

  /** Ends the connections to local ports that the rules do not allow any more. Others continue. */
  applyRules(): void {
    this.#localPorts.applyRules();
  }

  /** Ends all connections and closes the sockets. Can be repeated. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { datagrams, lookups, listeners } = this.#sockets;
    datagrams.close();
    for (const listener of [lookups, ...listeners]) listener.close();
    this.#localPorts[Symbol.dispose]();
    this.#connections[Symbol.dispose]();
  }

  /**
   * Forwards a connection of the server to the host that it is for, or refuses it. Runs in the asynchronous context in which
   * the gateway was made, by which its owner recognizes it.
   */
  readonly accept = AsyncLocalStorage.bind((inner: Socket): void => {
    this.#forward(inner).catch((error: unknown) => {
      inner.destroy();
      this.#onFault(error);
    });
  });

  /** Refuses a connection for a reason that no rule can change, and records that. */
  refuse(inner: Socket, reason: string): void {
    const { localAddress = '', localPort: port = 0 } = inner;
    inner.on('error', () => {}).resetAndDestroy();
    const host = this.#names.nameOf(localAddress) ?? localAddress;
    this.#egress.record({ host, port, verdict: 'denied', reason, missing: 'nothing' });
  }

  async #answerDatagram(packet: Buffer, port: number, address: string): Promise<void> {
    const response = await this.#answer(packet);
    if (response === undefined || this.#isClosed) return;
    this.#sockets.datagrams.send(response, port, address, () => {}); // the client asks again
  }

  async #answer(packet: Buffer): Promise<Buffer | undefined> {
    const query = parseQuery(packet);
    if (query === undefined || this.#lookups >= MAX_LOOKUPS) return undefined;
    this.#lookups += 1;
    try {
      return await this.#lookUp(query);
    } finally {
      this.#lookups -= 1;
    }
  }

  async #lookUp(query: Query): Promise<Buffer> {
    const { name, type } = query;
    if (type === recordType.ptr) return this.#lookUpReverse(query);
    const verdict = this.#egress.rules.forName(name);
    if (!verdict.isAllowed) {
      // Clients would repeat the query after a refusal, and wait.
      const { reason, missing } = verdict;
      this.#egress.record({ host: name, verdict: 'denied', reason, missing });
      return responseTo(query, responseCode.noSuchName);
    }
    try {
      if (!isBehindProxy(name, this.#proxies)) await this.#resolve(name);
    } catch (error) {
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOTFOUND';
      return responseTo(query, isMissing ? responseCode.noSuchName : responseCode.failed);
    }
    if (type !== recordType.a) return responseTo(query, responseCode.ok);
    const address = this.#names.addressOf(name);
    if (address === undefined) return responseTo(query, responseCode.failed);
    return responseTo(query, responseCode.ok, addressData(address));
  }

  #lookUpReverse(query: Query): Buffer {
    const address = addressInReverse(query.name);
    const name = address === undefined ? undefined : this.#names.nameOf(address);
    if (name === undefined) return responseTo(query, responseCode.noSuchName);
    return responseTo(query, responseCode.ok, nameData(name));
  }

  /** Over TCP, each packet follows its length (RFC 1035, section 4.2.2). */
  async #answerStream(client: Socket): Promise<void> {
    client.on('error', () => {});
    if (this.#isClosed) {
      client.destroy();
      return;
    }
    this.#connections.add(client);
    const timer = setTimeout(() => client.destroy(), LOOKUP_CONNECTION_MS);
    try {
      for await (const query of queriesIn(client)) {
        const response = await this.#answer(query);
        if (response === undefined || client.destroyed || client.writableLength > MAX_UNREAD_BYTES) return;
        const length = Buffer.alloc(2);
        length.writeUInt16BE(response.length);
        client.write(Buffer.concat([length, response]));
      }
    } catch (error) {
      if (!client.destroyed) throw error; // otherwise the client has gone
    } finally {
      clearTimeout(timer);
      client.end();
    }
  }

  async #forward(inner: Socket): Promise<void> {
    inner.on('error', () => {});
    const { localAddress = '', localPort: port = 0 } = inner;
    const name = this.#names.nameOf(localAddress);
    const destination = name === undefined ? { address: localAddress } : { name };
    const host = name ?? localAddress;
    if (!this.#connections.take(inner, name)) {
      inner.resetAndDestroy();
      return;
    }
    try {
      const verdict = this.#verdictOn(destination, port);
      if (!verdict.isAllowed) throw new Refused(verdict.reason, verdict.missing);
      const outer = await this.#connect(inner, { destination, port, verdict });
      const ended = this.#egress.record({ host, port, verdict: 'allowed', rule: verdict.rule });
      if (outer === undefined) tellAtEnd(inner, (traffic) => ended?.(traffic));
      else join(inner, outer, (traffic) => ended?.(traffic));
    } catch (error) {
      // An orderly end would look like an empty response.
      inner.resetAndDestroy();
      if (error instanceof Refused) {
        const { message: reason, missing, address } = error;
        this.#egress.record({ host, port, verdict: 'denied', reason, missing, ...(address && { address }) });
      } else if (!isOfNetwork(error)) throw error;
    }
  }

  #verdictOn(destination: Destination, port: number): Verdict {
    if ('address' in destination && isSynthetic(destination.address)) {
      return { isAllowed: false, reason: 'no name was looked up for this address', missing: 'nothing' };
    }
    return verdictOn(this.#egress.rules, destination, port);
  }

  /** Returns the connection to the host, or undefined if requests are passed on one by one. */
  async #connect(inner: Socket, { destination, port, verdict }: Connection): Promise<Socket | undefined> {
    if ('name' in destination) await requireNamed(inner, destination.name, port);
    const proxy = proxyOf(destination, port, this.#proxies);
    if (proxy !== undefined) {
      await this.#checkKnown(destination, verdict);
      const { passOnThrough } = await import('./corporate-way.ts');
      return passOnThrough(inner, { destination, port, proxy, ca: this.#proxies.ca });
    }
    const addresses = await addressesOf(destination, verdict, {
      rules: this.#egress.rules,
      resolve: this.#resolve,
    });
    return reach(inner, { destination, port, addresses });
  }

  /** Refuses names that lead inside, as far as this machine can resolve them. Only the proxy knows the rest. */
  async #checkKnown(destination: Destination, verdict: Connection['verdict']): Promise<void> {
    const { rules } = this.#egress;
    try {
      await addressesOf(destination, verdict, { rules, resolve: quickly(this.#resolve) });
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
  }
}

interface Connection {
  destination: Destination;
  port: number;
  verdict: Extract<Verdict, { isAllowed: true }>;
}

/** The queries of a client. Ends with the first one that is too long. Every byte is looked at once. */
async function* queriesIn(client: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const query = Buffer.alloc(2 + MAX_QUERY_BYTES);
  let filled = 0;
  for await (const chunk of client) {
    for (let at = 0; at < chunk.length;) {
      const wanted = filled < 2 ? 2 : 2 + query.readUInt16BE(0);
      const taken = chunk.copy(query, filled, at, Math.min(chunk.length, at + wanted - filled));
      filled += taken;
      at += taken;
      if (filled < 2) continue;
      const end = 2 + query.readUInt16BE(0);
      if (end > query.length) return;
      if (filled < end) continue;
      yield Buffer.from(query.subarray(2, end));
      filled = 0;
    }
  }
}
