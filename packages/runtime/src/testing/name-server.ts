import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { type Query, addressData, parseQuery, responseCode, responseTo } from '../egress/dns.ts';
import type { Resolve } from '../egress/resolver.ts';

/** A resolver of this machine for tests. */
export interface NameServer extends AsyncDisposable {
  /** Its address and port. */
  address: string;
}

/** Answers with the addresses that `resolve` returns, which nothing may remember. */
export async function openNameServer(resolve: Resolve): Promise<NameServer> {
  const socket = createSocket('udp4');
  const answer = async (packet: Buffer): Promise<Buffer | undefined> => {
    const query = parseQuery(packet);
    if (query === undefined) return undefined;
    const addresses = await resolve(query.name).catch(() => undefined);
    if (addresses === undefined) return responseTo(query, responseCode.noSuchName);
    const family = families[query.type];
    const found = addresses.filter((address) => isIP(address) === family?.number);
    return withRecords(query, family === undefined ? [] : found.map(family.dataOf));
  };
  socket.on('message', (packet, { port, address }) => {
    answer(packet).then(
      (response) => response !== undefined && socket.send(response, port, address),
      () => {}, // the socket was closed meanwhile
    );
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}

/** By record type. */
const families: Readonly<Record<number, { number: 4 | 6; dataOf: (address: string) => Buffer }>> = {
  1: { number: 4, dataOf: addressData },
  28: { number: 6, dataOf: longAddressData },
};

/** An IPv6 address as the data of an AAAA record. */
function longAddressData(address: string): Buffer {
  const [before = '', after = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [before, after].map((half) => half.split(':').filter(Boolean));
  const groups = [...(first ?? []), ...Array(8).fill('0'), ...(last ?? [])];
  groups.splice(first?.length ?? 0, groups.length - 8);
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

/** A response with several records, whose lifetime is 0. */
function withRecords(query: Query, data: readonly Buffer[]): Buffer {
  const responses = data.map((one) => responseTo(query, responseCode.ok, one));
  const [head = responseTo(query, responseCode.ok)] = responses;
  const records = responses.map((response) => response.subarray(query.end));
  for (const record of records) record.writeUInt32BE(0, 6); // after the name, the type, and the class
  head.writeUInt16BE(data.length, 6);
  return Buffer.concat([head.subarray(0, query.end), ...records]);
}
