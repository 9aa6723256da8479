import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** The program at the other end of a connection, as far as the system tells. */
export type Peer =
  | { kind: 'user'; id: number }
  /** The connection has ended, or its program has closed it, so no program waits for an answer. */
  | { kind: 'gone' }
  /** On another machine, in another system on this machine, or where the system does not tell (everywhere but on Linux). */
  | { kind: 'unknown' };

/**
 * Returns whose program is at the other end of a connection: the owner of the socket of this machine at the other end, as
 * Linux tells. A socket without a program has no owner.
 */
export async function peerOf(socket: Socket): Promise<Peer> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (remotePort === undefined || localPort === undefined) return { kind: 'gone' };
  const there = `${encoded(remoteAddress)}:${hexadecimal(remotePort)}`;
  const here = `${encoded(localAddress)}:${hexadecimal(localPort)}`;
  const other = ownerIn(await connections(), there, here);
  if (other !== undefined) return other === 'none' ? { kind: 'gone' } : { kind: 'user', id: other };
  // A program that resets its connection cannot be found either.
  const open = await connections();
  const own = ownerIn(open, here, there);
  return open.length > 0 && (own === undefined || own === 'none') ? { kind: 'gone' } : { kind: 'unknown' };
}

/** The sockets of this machine, one a line. None where the system does not tell. */
async function connections(): Promise<string[]> {
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => readFile(path, 'utf8').catch(() => ''));
  return (await Promise.all(tables)).flatMap((text) => text.split('\n').slice(1, -1));
}

/** The owner of the socket with these addresses. Undefined without such a socket. */
function ownerIn(lines: readonly string[], local: string, remote: string): number | 'none' | undefined {
  for (const line of lines) {
    // The columns are: number, local address, remote address, state, queues, timer, retransmissions, user, timeout, inode.
    const [, from = '', to = '', , , , , user, , inode] = line.trim().split(/\s+/);
    if (normalized(from) !== local || normalized(to) !== remote || user === undefined) continue;
    return inode === '0' ? 'none' : Number(user);
  }
  return undefined;
}

/** A connection belongs to the same program until its end. */
const known = new WeakMap<Socket, Promise<boolean>>();

/**
 * Whether the program at the other end of a connection acts for the user of this process. Everyone else on this machine can
 * read the arguments of the browser, and gets its cookies with a page on another port, because cookies ignore ports.
 */
export function actsForOwnUser(socket: Socket): Promise<boolean> {
  const before = known.get(socket);
  if (before !== undefined) return before;
  const found = peerOf(socket).then(
    (peer) => peer.kind === 'unknown' || (peer.kind === 'user' && [0, process.getuid?.()].includes(peer.id)),
  );
  known.set(socket, found);
  return found;
}

function hexadecimal(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0');
}

/** An address as the kernel writes it: in words of 32 bits, each with its lowest byte first. */
function encoded(address = ''): string {
  const v4 = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)?.slice(1).map(Number);
  if (v4 !== undefined) return words(v4);
  const [head = [], after] = address.split('::').map((part) => part.split(':').filter(Boolean));
  const groups =
    after === undefined
      ? head
      : [...head, ...Array.from({ length: 8 - head.length - after.length }, () => '0'), ...after];
  const bytes = groups.flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
  return words(bytes);
}

function words(bytes: readonly number[]): string {
  const text = (byte: number): string => byte.toString(16).toUpperCase().padStart(2, '0');
  return Array.from({ length: bytes.length / 4 }, (_none, index) =>
    bytes
      .slice(index * 4, index * 4 + 4)
      .toReversed()
      .map(text)
      .join(''),
  ).join('');
}

/** IPv4 addresses are also written as IPv6 addresses. */
function normalized(address: string): string {
  return address.replace(/^0{16}FFFF0000/, '');
}
