// A server that attacks its own egress gateway: `node egress-attacker.ts KIND`. Writes a line when the attack has begun. It
// ends by itself, because the number of connections and lookups and the time are bounded.
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { type Socket, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { RESOLVER_ADDRESS } from '../../packages/runtime/src/egress/link-addresses.ts';

/** The counts are those of the attacks that have delayed other workloads before. */
const attacks = {
  '1,000 dripping connections': drip,
  '400,000 lookups': lookUp,
  '14,000 connections': reconnect,
};
export type Attack = keyof typeof attacks;
export const attackNames = Object.keys(attacks) as Attack[]; // the literal names above

/** The only name that the gateway allows. */
export const allowedName = 'allowed.example';

const longestMs = 20_000;
let hasBegun = false;
function begin(): void {
  if (!hasBegun) process.stdout.write('begun\n');
  hasBegun = true;
}

/** Keeps connections open that send single bytes and never name a host. The gateway ends each after a while. */
async function drip(): Promise<void> {
  const [address = ''] = await resolver().resolve4(allowedName);
  const beginnings = { 80: 'GET / HTTP/1.1\r\nx: ', 443: '\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03' };
  const dripping = Array.from({ length: 1_000 }, (_none, index) => {
    const port = index % 2 === 0 ? 80 : 443;
    let socket: Socket | undefined;
    let sent = 0;
    return (): void => {
      if (socket === undefined || socket.destroyed) {
        socket = connect({ host: address, port, noDelay: true }).on('error', () => {});
        sent = 0;
      }
      socket.write(beginnings[port][sent++] ?? 'x', 'latin1');
    };
  });
  for (;;) {
    for (const one of dripping) one();
    await delay(10);
    begin();
  }
}

/** Sends queries for many names, so many in a second that the gateway cannot answer all, as long as the measurement takes. */
async function lookUp(): Promise<void> {
  const socket = createSocket('udp4').on('error', () => {});
  for (let sent = 0; sent < 400_000; await delay(10)) {
    for (let turn = 0; turn < 800; turn += 1)
      socket.send(queryFor(`n${sent++}.example`), 53, RESOLVER_ADDRESS);
    begin();
  }
  socket.close();
}

/** Opens one connection after the other, many at once. */
async function reconnect(): Promise<void> {
  const [address = ''] = await resolver().resolve4(allowedName);
  let left = 14_000;
  const dial = async (): Promise<void> => {
    while (left-- > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const socket = connect(80, address).on('error', () => {});
      socket.on('close', () => resolve()).on('connect', () => socket.destroy());
      await promise;
      begin();
    }
  };
  await Promise.all(Array.from({ length: 500 }, dial));
}

function resolver(): Resolver {
  const own = new Resolver();
  own.setServers([RESOLVER_ADDRESS]);
  return own;
}

/** A query for the address of a name (RFC 1035, section 4.1). */
function queryFor(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
}

if (import.meta.main) {
  setTimeout(() => process.exit(), longestMs).unref();
  await attacks[process.argv[2] as Attack]();
}
