import { once } from 'node:events';
import { type LookupFunction, type OnReadOpts, type Socket, connect, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isLoopbackAddress, refusalOf } from '../addresses.ts';
import type { Traffic } from '../egress.ts';
import type { Destination, MissingRule, Rules, Verdict } from '../outbound-rules.ts';
import { PEEK_BYTES, type Peek, peeks } from './peek.ts';
import type { Resolve } from './resolver.ts';

/** How long a server may take to name its destination, and a destination to accept. */
const PATIENCE_MS = 10_000;

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
  const peek = peeks[port];
  const named = peek === undefined ? name : await readName(inner, peek);
  if (named === name) return;
  throw new Refused(
    named === null ? 'the connection names no host' : `the connection is for ${JSON.stringify(named)}`,
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
    `the name resolves to ${resolved.join(', ')}, which is ${refusals[0]}`,
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

/** Forwards bytes between both sockets until both directions have ended. */
export function join(inner: Socket, outer: Socket, onEnd: (traffic: Traffic) => void): void {
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
