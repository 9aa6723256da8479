import type { Send } from '@toolhive/contract/client';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';

/** How long an open connection waits for the first request, in milliseconds. A daemon that ends waits for the connection. */
const spareMs = 200;

/**
 * Sends requests to the daemon over its Unix socket, each over a connection of its own, in HTTP/1.1 (RFC 9112). Only the
 * daemon is at the other end, so this reads only responses in the form of Node.js. Loading `node:http` would take a fifth of the
 * time of a short command.
 *
 * @param spare an open connection for the first request, if that comes soon
 */
export function sendOver(socketPath: string, spare?: Socket): Send {
  let waiting = spare?.setTimeout(spareMs, () => spare.destroy()).unref();
  const open = (): Socket => {
    const first = waiting;
    waiting = undefined;
    return first?.writable === true ? first.setTimeout(0).ref() : connect({ path: socketPath });
  };
  return async ({ method, path, headers, body, signal }) => {
    signal?.throwIfAborted();
    const head = headOf(method, path, { ...headers, ...lengthOf(body) });
    const socket = open();
    const end = (): void => {
      socket.destroy();
    };
    signal?.addEventListener('abort', end, { once: true });
    socket.once('close', () => signal?.removeEventListener('abort', end));
    socket.write(head + (body ?? ''));
    const answer = new Answer(socket);
    try {
      const { status, fields } = await answer.head();
      return { status, contentType: fields.get('content-type'), body: answer.body(fields) };
    } catch (error) {
      end();
      throw error;
    }
  };
}

function lengthOf(body: string | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
}

function headOf(method: string, path: string, headers: Readonly<Record<string, string>>): string {
  const fields = Object.entries({ host: 'localhost', connection: 'close', ...headers });
  const lines = [`${method} ${path} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`)];
  const unusual = path.includes(' ') ? path : lines.find((line) => /[^ -~]/.test(line));
  if (unusual !== undefined) throw new Error(`not a line of an HTTP request: ${JSON.stringify(unusual)}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

interface Head {
  status: number;
  /** By names in lower case. */
  fields: ReadonlyMap<string, string>;
}

/** The bytes of a response, in the order of their parts. */
class Answer {
  readonly #pieces: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#pieces = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>; // the socket has no encoding
  }

  /** The status line and the header fields of the response, after those of interim responses. */
  async head(): Promise<Head> {
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(await this.#line()) ?? [];
    if (status === undefined) throw new Error('not an HTTP response');
    const fields = new Map<string, string>();
    for (let line = await this.#line(); line !== ''; line = await this.#line()) {
      const colon = line.indexOf(':');
      fields.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    return status.startsWith('1') ? this.head() : { status: Number(status), fields };
  }

  /** The text of the body in pieces. Throws if the connection ends before the body. */
  async *body(fields: Head['fields']): AsyncGenerator<string, void, void> {
    const decoder = new StringDecoder('utf8');
    try {
      for await (const piece of this.#bytes(fields)) yield decoder.write(piece);
    } finally {
      await this.#pieces.return?.(); // closes the socket
    }
  }

  async *#bytes(fields: Head['fields']): AsyncGenerator<Buffer, void, void> {
    const length = fields.get('content-length');
    if (length !== undefined) yield* this.#next(Number(length));
    else if (fields.get('transfer-encoding') === 'chunked') yield* this.#chunks();
  }

  /** The chunks of a body, until the last one, which is empty (RFC 9112, section 7.1). */
  async *#chunks(): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      const size = Number.parseInt(await this.#line(), 16);
      if (size === 0) return;
      yield* this.#next(size);
      await this.#line();
    }
  }

  async *#next(length: number): AsyncGenerator<Buffer, void, void> {
    for (let left = length; left > 0;) {
      if (this.#rest.length === 0) await this.#read();
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async #line(): Promise<string> {
    let end = this.#rest.indexOf('\r\n');
    while (end === -1) {
      await this.#read();
      end = this.#rest.indexOf('\r\n');
    }
    const line = this.#rest.toString('latin1', 0, end);
    this.#rest = this.#rest.subarray(end + 2);
    return line;
  }

  async #read(): Promise<void> {
    const { value, done } = await this.#pieces.next();
    if (done === true) throw new Error('the connection ended before the response');
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
  }
}
