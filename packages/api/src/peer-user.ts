import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/**
 * Returns the user whose program is at the other end of a connection, as far as Linux tells: the owner of the socket
 * of this machine at the other end. Undefined for a program on another machine, and on other systems.
 */
export async function peerUser(socket: Socket): Promise<number | undefined> {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (remotePort === undefined || localPort === undefined) return undefined;
  const own = `${encoded(remoteAddress)}:${hexadecimal(remotePort)}`;
  const other = `${encoded(localAddress)}:${hexadecimal(localPort)}`;
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(table, 'utf8').catch(() => ''); // there is none on other systems
    for (const line of text.split('\n')) {
      // The columns are: number, local address, remote address, state, queues, timer, retransmissions, user.
      const [, local = '', remote = '', , , , , user] = line.trim().split(/\s+/);
      if (normalized(local) === own && normalized(remote) === other && user !== undefined)
        return Number(user);
    }
  }
  return undefined;
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
