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

/** One end of a connection, which may say anything; disposing of it ends the connection. */
export interface Caller extends Disposable {
  socket: Socket;
  /** What was answered to requests with these methods, once the connection is over, however it ended. */
  replies: (...methods: string[]) => Promise<Reply[]>;
}

export async function dial(port: number, onHead: (head: Reply) => void = () => {}): Promise<Caller> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  await once(socket, 'connect');
  const over = new Promise((resolve) => socket.once('close', resolve));
  const received: Buffer[] = [];
  socket.on('error', () => {}); // that the other side ends it is no fault
  socket.on('data', (chunk: Buffer) => {
    received.push(chunk);
    const found = received.length <= 3 ? headOf(Buffer.concat(received)) : undefined;
    if (found !== undefined) onHead(found.head);
  });
  return {
    socket,
    async replies(...methods) {
      await over;
      return parseReplies(Buffer.concat(received), methods);
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

interface ExchangeOptions {
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
  const { socket, replies } = await dial(port, (head) => void (leaves(head) && socket.destroy()));
  socket.write(bytes);
  if (halfClose) socket.end();
  return replies(...methods);
}

/** Takes apart what one connection answered (RFC 9112); interim answers are left out. */
function parseReplies(bytes: Buffer, methods: readonly string[]): Reply[] {
  const replies: Reply[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const found = headOf(rest);
    if (found === undefined && rest.toString('latin1', 0, 10) === 'HTTP/1.1 1') break;
    if (found === undefined) throw new Error(`no answer: ${JSON.stringify(rest.toString('latin1', 0, 200))}`);
    rest = rest.subarray(found.length);
    // Whoever did not understand a request does not know that it was a HEAD, and sends a body.
    const isBare =
      methods[replies.length] === 'HEAD' &&
      (rest.length === 0 || startOfHead.test(rest.toString('latin1', 0, 20)));
    const { body, length } = isBare ? nothing : bodyOf(rest, found.head);
    replies.push({ ...found.head, text: body.toString('utf8') });
    rest = rest.subarray(length);
  }
  return replies;
}

const nothing = { body: Buffer.alloc(0), length: 0 };
const startOfHead = /^HTTP\/1\.1 (\d{3}) /;

/** The first head that is not of an interim answer, and where it ends. */
function headOf(bytes: Buffer, start = 0): { head: Reply; length: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n', start);
  if (end === -1) return undefined;
  const [first = '', ...lines] = bytes.toString('latin1', start, end).split('\r\n');
  const status = Number(startOfHead.exec(first)?.[1]);
  if (status < 200) return headOf(bytes, end + 4);
  if (Number.isNaN(status)) return undefined;
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return { head: { status, headers, text: '' }, length: end + 4 };
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
