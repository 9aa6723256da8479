import type { Socket as Datagrams } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import type { Egress } from '../egress.ts';
import type { Destination, Verdict } from '../outbound-rules.ts';
import { type Query, addressData, addressInReverse, nameData, parseQuery } from './dns.ts';
import { recordType, responseCode, responseTo } from './dns.ts';
import { Names, isSynthetic } from './names.ts';
import { Refused, addressesOf, join, reach, requireNamed, verdictOn } from './outbound.ts';
import type { Resolve } from './resolver.ts';

/** The sockets that the programs of one server reach. */
export interface GatewaySockets {
  /** UDP and TCP for name lookups. */
  datagrams: Datagrams;
  lookups: Server;
  /** One for each port that the server can connect to, unless it shares them with others. */
  listeners: readonly Server[];
}

/** Prepares a listener in a namespace where every address is local. */
export function takeConnections(listener: Server, accept: (inner: Socket) => void): void {
  Object.assign(listener, { allowHalfOpen: true, pauseOnConnect: true });
  listener.on('connection', accept);
}

const MAX_CONNECTIONS = 1024;
const MAX_LOOKUPS = 128;
const MAX_LOOKUP_CONNECTIONS = 32;
const LOOKUP_CONNECTION_MS = 10_000;

/**
 * A server's only route to the network. It answers lookups of allowed names with synthetic addresses, and forwards
 * connections to the real hosts. It checks the name, the port, the name in the first bytes, and the real address of
 * each connection. It refuses everything else immediately.
 */
export class EgressGateway implements Disposable {
  readonly #egress: Egress;
  readonly #resolve: Resolve;
  readonly #sockets: GatewaySockets;
  readonly #connections = new Map<Socket, string | undefined>();
  readonly #names = new Names((name) => this.#isInUse(name));
  #lookups = 0;

  constructor(sockets: GatewaySockets, egress: Egress, resolve: Resolve) {
    this.#sockets = sockets;
    this.#egress = egress;
    this.#resolve = resolve;
    sockets.datagrams.on('message', (packet: Buffer, { port, address }) => {
      void this.#answerDatagram(packet, port, address);
    });
    sockets.lookups.maxConnections = MAX_LOOKUP_CONNECTIONS;
    sockets.lookups.on('connection', (client: Socket) => void this.#answerStream(client));
    for (const listener of sockets.listeners) takeConnections(listener, (inner) => void this.accept(inner));
  }

  /** Ends all connections and closes the sockets. */
  [Symbol.dispose](): void {
    const { datagrams, lookups, listeners } = this.#sockets;
    datagrams.close();
    for (const listener of [lookups, ...listeners]) listener.close();
    for (const connection of this.#connections.keys()) connection.destroy();
  }

  async #answerDatagram(packet: Buffer, port: number, address: string): Promise<void> {
    const response = await this.#answer(packet);
    if (response !== undefined) this.#sockets.datagrams.send(response, port, address, () => {});
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
      await this.#resolve(name);
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
    this.#connections.set(client, undefined);
    client.on('error', () => {}).on('close', () => this.#connections.delete(client));
    client.setTimeout(LOOKUP_CONNECTION_MS, () => client.destroy());
    let bytes = Buffer.alloc(0);
    try {
      for await (const chunk of client) {
        bytes = Buffer.concat([bytes, chunk as Buffer]);
        for (let end = endOfPacket(bytes); end <= bytes.length; end = endOfPacket(bytes)) {
          const response = await this.#answer(bytes.subarray(2, end));
          bytes = bytes.subarray(end);
          if (response === undefined) return;
          const length = Buffer.alloc(2);
          length.writeUInt16BE(response.length);
          client.write(Buffer.concat([length, response]));
        }
      }
    } catch {
      // the client has gone
    } finally {
      client.end();
    }
  }

  /** Forwards a connection of the server to the host that it is for, or refuses it. Never rejects. */
  async accept(inner: Socket): Promise<void> {
    inner.on('error', () => {});
    const { localAddress = '', localPort: port = 0 } = inner;
    const name = this.#names.nameOf(localAddress);
    const destination = name === undefined ? { address: localAddress } : { name };
    const host = name ?? localAddress;
    if (this.#connections.size >= MAX_CONNECTIONS) return void inner.resetAndDestroy();
    this.#connections.set(inner, name);
    inner.on('close', () => this.#connections.delete(inner));
    try {
      const verdict = this.#verdictOn(destination, port);
      if (!verdict.isAllowed) throw new Refused(verdict.reason, verdict.missing);
      const outer = await this.#connect(inner, { destination, port, verdict });
      const ended = this.#egress.record({ host, port, verdict: 'allowed', rule: verdict.rule });
      join(inner, outer, (traffic) => ended?.(traffic));
    } catch (error) {
      // An orderly end would look like an empty response.
      inner.resetAndDestroy();
      if (error instanceof Refused) {
        const { message: reason, missing, address } = error;
        this.#egress.record({ host, port, verdict: 'denied', reason, missing, ...(address && { address }) });
      }
    }
  }

  /** Refuses a connection for a reason that no rule can change, and records that. */
  refuse(inner: Socket, reason: string): void {
    const { localAddress = '', localPort: port = 0 } = inner;
    inner.on('error', () => {}).resetAndDestroy();
    const host = this.#names.nameOf(localAddress) ?? localAddress;
    this.#egress.record({ host, port, verdict: 'denied', reason, missing: 'nothing' });
  }

  #verdictOn(destination: Destination, port: number): Verdict {
    if ('address' in destination && isSynthetic(destination.address)) {
      return { isAllowed: false, reason: 'no name was looked up for this address', missing: 'nothing' };
    }
    return verdictOn(this.#egress.rules, destination, port);
  }

  async #connect(inner: Socket, { destination, port, verdict }: Connection): Promise<Socket> {
    if ('name' in destination) await requireNamed(inner, destination.name, port);
    const addresses = await addressesOf(destination, verdict, {
      rules: this.#egress.rules,
      resolve: this.#resolve,
    });
    return reach(inner, { destination, port, addresses });
  }

  #isInUse(name: string): boolean {
    return this.#connections.values().some((used) => used === name);
  }
}

interface Connection {
  destination: Destination;
  port: number;
  verdict: Extract<Verdict, { isAllowed: true }>;
}

function endOfPacket(bytes: Buffer): number {
  return bytes.length < 2 ? Number.POSITIVE_INFINITY : 2 + bytes.readUInt16BE(0);
}
