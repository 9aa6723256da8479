import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { type LookupFunction, type OnReadOpts, type Server, type Socket, connect, isIP } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { isOfThisMachine, refusalOf } from '../addresses.ts';
import type { Traffic } from '../egress.ts';
import type { Destination, MissingRule, Rules, Verdict } from '../outbound-rules.ts';
import { PEEK_BYTES, type Peek, peeks } from './peek.ts';
import type { Resolve } from './resolver.ts';

/** How long a server may take to name its destination, and a destination to accept. */
const PATIENCE_MS = 10_000;
/** The length of the part of a server's text that appears in a reason. */
const LONGEST_NAME = 253;
const MOST_TOLD = 8;

/** The rules' verdict on a connection. Names the missing rule only if a rule could allow the connection. */
export function verdictOn(rules: Rules, destination: Destination, port: number): Verdict {
  const verdict = rules.forConnection(destination, port);
  if (verdict.isAllowed || 'name' in destination || missingFor(destination.address) === 'address')
    return verdict;
  return { ...verdict, missing: 'nothing' };
}

/**
 * Throws `Refused` if the first bytes name another host than the allowed one, or none, on a port where bytes name a
 * host. The bytes stay in the stream.
 */
export async function requireNamed(inner: Socket, name: string, port: number): Promise<void> {
  const openPeek = peeks[port];
  const named = openPeek === undefined ? name : await readName(inner, openPeek());
  if (named === name) return;
  throw new Refused(
    named === null
      ? 'the connection names no host'
      : `the connection is for ${JSON.stringify(named.slice(0, LONGEST_NAME))}`,
    'nothing',
  );
}

/**
 * The addresses of an allowed destination that a connection may use. Throws `Refused` if the rules allow none of them,
 * and the resolver's error if the name cannot be resolved.
 */
export async function addressesOf(
  destination: Destination,
  { mayBePrivate }: Extract<Verdict, { isAllowed: true }>,
  { rules, resolve }: { rules: Rules; resolve: Resolve },
): Promise<string[]> {
  if ('address' in destination) {
    const { address } = destination;
    const refusal = refusalFor(address, mayBePrivate);
    if (refusal !== undefined) throw new Refused(`it is ${refusal}`, missingFor(address));
    return [address];
  }
  const resolved = await resolve(destination.name);
  const refusals = resolved.map((address) => refusalFor(address, rules.listsAddress(address)));
  const addresses = resolved.filter((_address, index) => refusals[index] === undefined);
  if (addresses.length > 0) return addresses;
  const [first = ''] = resolved;
  throw new Refused(
    `the name resolves to ${resolved.slice(0, MOST_TOLD).join(', ')}, which is ${refusals[0]}`,
    missingFor(first),
    first,
  );
}

/** Returns a lookup with only these addresses, because the result of another lookup would be unchecked. */
export function lookupOf(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_name, { all }, done) =>
    all === true ? done(null, found) : done(null, found[0]?.address ?? '', found[0]?.family);
}

/** Connects to one of the addresses. If one side breaks, the other side breaks, too. */
export async function reach(
  inner: Socket,
  { destination, port, addresses }: { destination: Destination; port: number; addresses: readonly string[] },
): Promise<Socket> {
  const host = 'name' in destination ? destination.name : destination.address;
  const outer: Socket = connect({
    host,
    port,
    ...('name' in destination ? { lookup: lookupOf(addresses) } : {}),
    autoSelectFamily: true,
    allowHalfOpen: true,
    onread: passOnInPlace(inner, () => outer.resume()),
  });
  breakTogether(outer, inner);
  breakTogether(inner, outer);
  await once(outer, 'connect', { signal: AbortSignal.timeout(PATIENCE_MS) });
  return outer;
}

/** Prepares a listener whose connections are forwarded. */
export function takeConnections(listener: Server, accept: (inner: Socket) => void): void {
  Object.assign(listener, { allowHalfOpen: true, pauseOnConnect: true });
  listener.on('connection', accept);
}

/** A connection whose client has gone. */
export class ConnectionEnded extends Error {}

/** A connection that the rules do not allow. The message says why. */
export class Refused extends Error {
  readonly missing: MissingRule;
  readonly address: string | undefined;

  constructor(message: string, missing: MissingRule, address?: string) {
    super(message);
    this.missing = missing;
    this.address = address;
  }
}

/** Whether the network, or the end of one side, is the reason, and not a mistake of this program. */
export function isOfNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  const isMistake = code === '' || code.startsWith('ERR_INVALID');
  return error instanceof ConnectionEnded || error.name === 'AbortError' || !isMistake;
}

/** Never this machine, whose addresses lead to services that trust their neighbors, and to other workloads. */
function refusalFor(address: string, mayBePrivate: boolean): string | undefined {
  return (
    refusalOf(address, mayBePrivate) ?? (isOfThisMachine(address) ? 'an address of this machine' : undefined)
  );
}

/** What the rules would need to allow a refused address. */
function missingFor(address: string): MissingRule {
  return refusalFor(address, true) === undefined ? 'address' : 'nothing';
}

/**
 * The name in the first bytes, which remain in the stream. Null if the bytes contain no name. Reads at most one piece per
 * turn of the event loop, so that a server that sends single bytes on many connections delays nothing else.
 */
async function readName(inner: Socket, peek: Peek): Promise<string | null> {
  const timer = setTimeout(() => inner.resetAndDestroy(), PATIENCE_MS);
  const pieces: Buffer[] = [];
  let length = 0;
  let name: string | null | undefined;
  try {
    while (name === undefined && length < PEEK_BYTES && !inner.readableEnded) {
      const piece = inner.read() as Buffer | null;
      if (piece === null) {
        await untilReadable(inner);
      } else {
        pieces.push(piece);
        length += piece.length;
        name = peek.add(piece);
        // With a name, the bytes go back before the stream can end.
        if (name === undefined) await immediate();
      }
      if (inner.destroyed) throw new ConnectionEnded();
    }
    if (!inner.readableEnded) inner.unshift(Buffer.concat(pieces));
    return name ?? null;
  } finally {
    clearTimeout(timer);
  }
}

function untilReadable(inner: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const settle = (): void => {
    inner.off('readable', settle).off('end', settle).off('close', settle);
    resolve();
  };
  inner.on('readable', settle).on('end', settle).on('close', settle);
  return promise;
}

/** An error on one side becomes an error on the other side. A half-closed side stays half-closed. */
export function breakTogether(one: Socket, other: Socket): void {
  one.on('error', () => {});
  one.on('close', (hasFailed) => {
    if (hasFailed) other.resetAndDestroy();
    else other.destroySoon();
  });
}

// An accepted socket does not remember for which gateway it is.
const bound = <F extends (...args: never[]) => unknown>(handler: F): F => AsyncLocalStorage.bind(handler);

/** Tells the traffic of a connection when it is over. */
export function tellAtEnd(inner: Socket, onEnd: (traffic: Traffic) => void): void {
  inner.on(
    'close',
    bound(() => onEnd({ sent: inner.bytesRead, received: inner.bytesWritten })),
  );
}

/** Forwards bytes between both sockets until both directions have ended. */
export function join(inner: Socket, outer: Socket, onEnd: (traffic: Traffic) => void): void {
  tellAtEnd(inner, onEnd);
  outer.on('end', () => inner.end());
  inner.on(
    'data',
    bound((piece: Buffer) => {
      inner.pause();
      const resume = (): void => {
        inner.resume();
      };
      if (outer.write(piece)) setImmediate(resume);
      else outer.once('drain', resume);
    }),
  );
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
