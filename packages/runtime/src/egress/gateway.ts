import type { Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { type LookupFunction, type OnReadOpts, type Server, type Socket, connect, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopbackAddress, refusalOf } from '../addresses.ts';
import type { Egress, Traffic } from '../egress.ts';
import type { Destination, MissingRule, Verdict } from '../outbound-rules.ts';
import { type Query, addressData, addressInReverse, nameData, parseQuery } from './dns.ts';
import { recordType, responseCode, responseTo } from './dns.ts';
import { Names, isSynthetic } from './names.ts';
import { PEEK_BYTES, type Peek, peeks } from './peek.ts';
import type { Resolve } from './resolver.ts';

/** The sockets in the neighbor namespace of a server, where every address is local. */
export interface GatewaySockets {
  /** UDP and TCP for name lookups. */
  datagrams: Datagrams;
  lookups: Server;
  /** One for each port that servers can connect to. */
  listeners: readonly Server[];
}

const MAX_CONNECTIONS = 1024;
const MAX_LOOKUPS = 128;
const MAX_LOOKUP_CONNECTIONS = 32;
/** How long a server may take to name its destination, and a destination to accept. */
const PATIENCE_MS = 10_000;
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
    for (const listener of sockets.listeners) {
      Object.assign(listener, { allowHalfOpen: true, pauseOnConnect: true });
      listener.on('connection', (inner: Socket) => void this.#accept(inner));
    }
  }

  /** Ends all connections and closes the sockets, with which the namespace disappears. */
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

  async #accept(inner: Socket): Promise<void> {
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

  #verdictOn(destination: Destination, port: number): Verdict {
    if ('address' in destination && isSynthetic(destination.address)) {
      return { isAllowed: false, reason: 'no name was looked up for this address', missing: 'nothing' };
    }
    const verdict = this.#egress.rules.forConnection(destination, port);
    if (verdict.isAllowed || 'name' in destination || missingFor(destination.address) === 'address')
      return verdict;
    return { ...verdict, missing: 'nothing' };
  }

  async #connect(inner: Socket, { destination, port, verdict }: Connection): Promise<Socket> {
    if ('address' in destination) {
      requireReachable(destination.address, verdict.mayBePrivate);
      return this.#reach(inner, { host: destination.address, port });
    }
    const { name } = destination;
    const peek = peeks[port];
    const named = peek === undefined ? name : await readName(inner, peek);
    if (named !== name) {
      throw new Refused(
        named === null ? 'the connection names no host' : `the connection is for ${JSON.stringify(named)}`,
        'nothing',
      );
    }
    const resolved = await this.#resolve(name);
    const { rules } = this.#egress;
    const refusals = resolved.map((address) => refusalFor(address, rules.listsAddress(address)));
    const addresses = resolved.filter((_address, index) => refusals[index] === undefined);
    if (addresses.length === 0) {
      const [first = ''] = resolved;
      throw new Refused(
        `the name resolves to ${resolved.join(', ')}, which is ${refusals[0]}`,
        missingFor(first),
        first,
      );
    }
    // Only these addresses, because the result of another lookup would be unchecked.
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    const lookup: LookupFunction = (_name, _options, done) => done(null, found);
    return this.#reach(inner, { host: name, port, lookup });
  }

  async #reach(
    inner: Socket,
    target: { host: string; port: number; lookup?: LookupFunction },
  ): Promise<Socket> {
    const outer: Socket = connect({
      ...target,
      autoSelectFamily: true,
      allowHalfOpen: true,
      onread: passOnInPlace(inner, () => outer.resume()),
    });
    breakTogether(outer, inner);
    breakTogether(inner, outer);
    await once(outer, 'connect', { signal: AbortSignal.timeout(PATIENCE_MS) });
    return outer;
  }

  #isInUse(name: string): boolean {
    return this.#connections.values().some((used) => used === name);
  }
}

/** A connection that the rules do not allow. The message says why. */
class Refused extends Error {
  readonly missing: MissingRule;
  readonly address: string | undefined;

  constructor(message: string, missing: MissingRule, address?: string) {
    super(message);
    this.missing = missing;
    this.address = address;
  }
}

interface Connection {
  destination: Destination;
  port: number;
  verdict: Extract<Verdict, { isAllowed: true }>;
}

function requireReachable(address: string, mayBePrivate: boolean): void {
  const refusal = refusalFor(address, mayBePrivate);
  if (refusal !== undefined) throw new Refused(`it is ${refusal}`, missingFor(address));
}

/** Never this machine, whose addresses lead to services that trust their neighbors, and to other workloads. */
function refusalFor(address: string, mayBePrivate: boolean): string | undefined {
  return refusalOf(address, mayBePrivate) ?? (isOwn(address) ? 'an address of this machine' : undefined);
}

function isOwn(address: string): boolean {
  const own = Object.values(networkInterfaces()).flat();
  return own.some((found) => found?.address === address) || isLoopbackAddress(address);
}

/** What the rules would need to allow a refused address. */
function missingFor(address: string): MissingRule {
  return refusalFor(address, true) === undefined ? 'address' : 'nothing';
}

/** The name in the first bytes, which remain in the stream. Null if the bytes contain no name. */
async function readName(inner: Socket, peek: Peek): Promise<string | null> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  let bytes = Buffer.alloc(0);
  for (;;) {
    const chunk = inner.read() as Buffer | null;
    if (chunk !== null) bytes = Buffer.concat([bytes, chunk]);
    const name = chunk === null ? undefined : peek(bytes);
    if (name === undefined && bytes.length < PEEK_BYTES && !inner.readableEnded) {
      await once(inner, 'readable', { signal });
      continue;
    }
    inner.unshift(bytes);
    return name ?? null;
  }
}

/** An error on one side becomes an error on the other side. A half-closed side stays half-closed. */
function breakTogether(one: Socket, other: Socket): void {
  one.on('error', () => {});
  one.on('close', (hasFailed) => void (hasFailed ? other.resetAndDestroy() : other.destroySoon()));
}

function join(inner: Socket, outer: Socket, onEnd: (traffic: Traffic) => void): void {
  inner.on('close', () => onEnd({ sent: inner.bytesRead, received: inner.bytesWritten }));
  outer.on('end', () => inner.end());
  inner.on('data', (piece: Buffer) => {
    inner.pause();
    const resume = (): void => void inner.resume();
    if (outer.write(piece)) setImmediate(resume);
    else outer.once('drain', resume);
  });
  inner.on('end', () => outer.end());
  inner.resume();
}

const PIECE_BYTES = 64 * 1024;

/**
 * Forwards a host's data, one piece per turn of the event loop. Without this limit, a fast download and the
 * collection of its buffers would block everything else in this process. Each piece reuses the same buffer.
 */
function passOnInPlace(to: Socket, resume: () => void): OnReadOpts {
  let buffer: Buffer | undefined;
  return {
    buffer: () => (buffer ??= Buffer.allocUnsafeSlow(PIECE_BYTES)),
    callback(length, piece) {
      to.write(piece.subarray(0, length), () => setImmediate(resume));
      return false;
    },
  };
}

function endOfPacket(bytes: Buffer): number {
  return bytes.length < 2 ? Number.POSITIVE_INFINITY : 2 + bytes.readUInt16BE(0);
}
