import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** An answer, as it came over the wire. */
export interface Reply {
  status: number;
  /** By lower-case name; several of one name are joined with a comma. */
  headers: Record<string, string>;
  text: string;
}

export interface ExchangeOptions {
  /** The methods of the requests, in order: answers to some have no body. */
  methods?: readonly string[];
  /** Ends the sending side after the last byte, for requests that never get whole. */
  halfClose?: boolean;
  /** Goes away as soon as the head of an answer says that its body goes on. */
  leaves?: (head: Reply) => boolean;
}

/** Sends these bytes, whatever they are, and gives back what was answered until the connection ended. */
export async function exchange(
  port: number,
  bytes: Buffer | string,
  { methods = ['GET'], halfClose = false, leaves = () => false }: ExchangeOptions = {},
): Promise<Reply[]> {
  const socket = await dial(port);
  const received: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => {
    received.push(chunk);
    const head = headOf(Buffer.concat(received.slice(0, 2)));
    if (head !== undefined && leaves(head)) socket.destroy();
  });
  socket.write(bytes);
  if (halfClose) socket.end();
  await closed(socket);
  return parseReplies(Buffer.concat(received), methods);
}

/** A connection over which nothing was said yet. That the other side ends it is no error. */
export async function dial(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  socket.on('error', () => {});
  return socket;
}

/** Returns when the connection is over, however it ended. */
export async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

/** Takes apart what one connection answered (RFC 9112); interim answers are left out. */
export function parseReplies(bytes: Buffer, methods: readonly string[]): Reply[] {
  const replies: Reply[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const end = rest.indexOf('\r\n\r\n');
    const head = headOf(rest);
    if (head === undefined) throw new Error(`no answer: ${JSON.stringify(rest.toString('latin1', 0, 200))}`);
    rest = rest.subarray(end + 4);
    if (head.status < 200) continue;
    const method = methods[replies.length];
    const { body, length } = method === 'HEAD' ? nothing : bodyOf(rest, head);
    replies.push({ ...head, text: body.toString('utf8') });
    rest = rest.subarray(length);
  }
  return replies;
}

const nothing = { body: Buffer.alloc(0), length: 0 };

function headOf(bytes: Buffer): Reply | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1];
  if (status === undefined) return undefined;
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return { status: Number(status), headers, text: '' };
}

function bodyOf(rest: Buffer, { status, headers }: Reply): { body: Buffer; length: number } {
  if (status === 204 || status === 304) return nothing;
  if (headers['transfer-encoding'] === 'chunked') return dechunked(rest);
  const length = Math.min(Number(headers['content-length'] ?? rest.length), rest.length);
  return { body: rest.subarray(0, length), length };
}

/** As far as it came: whoever leaves early has no last chunk. */
function dechunked(rest: Buffer): { body: Buffer; length: number } {
  const chunks: Buffer[] = [];
  for (let at = 0; ;) {
    const end = rest.indexOf('\r\n', at);
    const size = Number.parseInt(rest.toString('latin1', at, end), 16);
    if (end === -1 || !(size > 0)) {
      return { body: Buffer.concat(chunks), length: end === -1 ? rest.length : end + 4 };
    }
    chunks.push(rest.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}
