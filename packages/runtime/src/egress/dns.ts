/** Record types (RFC 1035, RFC 3596). */
export const recordType = { a: 1, ptr: 12 } as const;

/** Response codes (RFC 1035, section 4.1.1). */
export const responseCode = { ok: 0, failed: 2, noSuchName: 3 } as const;
type ResponseCode = (typeof responseCode)[keyof typeof responseCode];

export interface Query {
  /** In lower case, without the final dot. */
  name: string;
  type: number;
  packet: Buffer;
  /** Where the question ends in the packet. */
  end: number;
}

const HEADER_BYTES = 12;
const LABEL_BYTES = 63;
/** The longest name in text (RFC 1035, section 2.3.4). Over TCP, a packet could contain one of 64 kB. */
const NAME_CHARACTERS = 253;
const INTERNET_CLASS = 1;

/** Reads a standard query with exactly one question of the class IN. Returns undefined for every other packet. */
export function parseQuery(packet: Buffer): Query | undefined {
  const isQuery = packet.length > HEADER_BYTES && ((packet[2] ?? 0) & 0xf8) === 0;
  if (!isQuery || packet.readUInt16BE(4) !== 1) return undefined;
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = packet[at]; length !== 0; length = packet[at]) {
    if (length === undefined || length > LABEL_BYTES) return undefined;
    labels.push(packet.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  if (labels.length === 0 || at + 5 > packet.length || packet.readUInt16BE(at + 3) !== INTERNET_CLASS) {
    return undefined;
  }
  const name = labels.join('.').toLowerCase();
  if (name.length > NAME_CHARACTERS) return undefined;
  return { name, type: packet.readUInt16BE(at + 1), packet, end: at + 5 };
}

const AUTHORITATIVE_WITH_RECURSION = 0x8480;
const RECURSION_DESIRED = 0x0100;
const LIFETIME_S = 60;

/**
 * The response to a query, with at most one record. The code `ok` without a record means that the name exists without
 * a record of this type. The response repeats the exact question, because clients compare its letter case.
 */
export function responseTo({ packet, end, type }: Query, code: ResponseCode, data?: Buffer): Buffer {
  const header = Buffer.from(packet.subarray(0, HEADER_BYTES));
  const flags = AUTHORITATIVE_WITH_RECURSION | (header.readUInt16BE(2) & RECURSION_DESIRED) | code;
  header.writeUInt16BE(flags, 2);
  header.writeUInt16BE(data === undefined ? 0 : 1, 6);
  header.writeUInt32BE(0, 8);
  const question = packet.subarray(HEADER_BYTES, end);
  return Buffer.concat([header, question, ...(data === undefined ? [] : [record(type, data)])]);
}

/** A record for the name in the question, which the record references by position (RFC 1035, section 4.1.4). */
function record(type: number, data: Buffer): Buffer {
  const head = Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, INTERNET_CLASS, 0, 0, 0, LIFETIME_S, 0, 0]);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

/** An IPv4 address as the data of an A record. */
export const addressData = (address: string): Buffer => Buffer.from(address.split('.').map(Number));

/** A name as the data of a PTR record. */
export function nameData(name: string): Buffer {
  const labels = name
    .split('.')
    .flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, 'latin1')]);
  return Buffer.concat([...labels, Buffer.from([0])]);
}

/** The IPv4 address that a reverse lookup asks about (RFC 1035, section 3.5). */
export function addressInReverse(name: string): string | undefined {
  const labels = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.in-addr\.arpa$/.exec(name);
  return labels?.slice(1).toReversed().join('.');
}
