import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** The result of one period of load. */
export interface LoadResult {
  requests: number;
  ms: number;
  /** How long each answer took. */
  latenciesMs: number[];
}

/**
 * Calls a tool repeatedly on open connections, each with a session and one request at a time. Uses minimal HTTP, so that
 * the client is not the bottleneck, and checks the ID of every response. Sessions last, but connections last only for one
 * run, because servers close idle connections.
 */
export class Load implements Disposable {
  readonly #connections: Connection[];

  private constructor(connections: Connection[]) {
    this.#connections = connections;
  }

  /** `token` is the bearer token of each request. */
  static async open(port: number, connections: number, token?: string): Promise<Load> {
    const load = new Load(Array.from({ length: connections }, () => new Connection(port, token)));
    await load.#each((connection) => connection.connect());
    await load.#each((connection) => connection.begin());
    load[Symbol.dispose]();
    return load;
  }

  async run(durationMs: number): Promise<LoadResult> {
    await this.#each((connection) => connection.connect());
    const latenciesMs: number[] = [];
    const startedMs = performance.now();
    const endMs = startedMs + durationMs;
    await this.#each((connection) => connection.callUntil(endMs, latenciesMs));
    const ms = performance.now() - startedMs;
    this[Symbol.dispose]();
    return { requests: latenciesMs.length, ms, latenciesMs };
  }

  /** Opens the event stream of every session, until the result is disposed. */
  async listen(): Promise<void> {
    await this.#each((connection) => connection.connect());
    await this.#each((connection) => connection.listen());
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection[Symbol.dispose]();
  }

  async #each(act: (connection: Connection) => Promise<void>): Promise<void> {
    await Promise.all(this.#connections.map(act));
  }
}

/** Ids are never used twice: servers may remember them. */
let lastId = 0;

const endOfHead = '\r\n\r\n';
const lastChunk = '\r\n0\r\n\r\n';

class Connection implements Disposable {
  readonly #port: number;
  readonly #authorization: string;
  #socket: Socket | undefined;
  #session = '';
  #received = '';
  #answered: (head: string, body: string) => void = () => {};
  #failed: (error: Error) => void = () => {};

  constructor(port: number, token?: string) {
    this.#port = port;
    this.#authorization = token === undefined ? '' : `authorization: Bearer ${token}\r\n`;
  }

  async connect(): Promise<void> {
    const socket = connect({ host: '127.0.0.1', port: this.#port, noDelay: true });
    await once(socket, 'connect');
    socket.setEncoding('latin1'); // a character is a byte, as Content-Length counts
    socket.on('data', (text: string) => this.#receive(text));
    socket.on('error', (error) => this.#failed(error));
    socket.on('close', () => this.#failed(new Error(`port ${this.#port} closed the connection`)));
    this.#socket = socket;
    this.#received = '';
  }

  /** Begins a session, if the server has sessions. */
  async begin(): Promise<void> {
    const head = await this.#initialize();
    this.#session = /^mcp-session-id: *(\S+)/im.exec(head)?.[1] ?? '';
  }

  /** Requests the session's event stream. The stream never ends, so this connection receives no other responses. */
  async listen(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#failed = reject;
    this.#socket?.removeAllListeners('data').once('data', (head: string) => {
      if (head.startsWith('HTTP/1.1 200')) resolve();
      else reject(new Error(`no stream: ${head}`));
    });
    this.#socket?.write(
      `GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:${this.#port}\r\naccept: text/event-stream\r\n${this.#authorization}${this.#sessionLine()}\r\n`,
    );
    await promise;
  }

  callUntil(endMs: number, latenciesMs: number[]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#failed = reject;
    let sentMs = 0;
    let id = 0;
    const call = (): void => {
      id = ++lastId;
      sentMs = performance.now();
      this.#send(
        `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello from far away"}}}`,
      );
    };
    this.#answered = (head, body) => {
      const nowMs = performance.now();
      if (!isAnswerTo(id, head, body)) return reject(new Error(`not the answer to ${id}: ${head}\n${body}`));
      latenciesMs.push(nowMs - sentMs);
      if (nowMs < endMs) call();
      else resolve();
    };
    call();
    return promise;
  }

  [Symbol.dispose](): void {
    this.#failed = () => {};
    this.#socket?.destroy();
  }

  #initialize(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#failed = reject;
    this.#answered = resolve;
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    };
    this.#send(JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method: 'initialize', params }));
    return promise;
  }

  #send(body: string): void {
    const session = this.#sessionLine();
    this.#socket?.write(
      `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${this.#port}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n${this.#authorization}${session}content-length: ${body.length}\r\n\r\n${body}`,
      'latin1',
    );
  }

  #sessionLine(): string {
    return this.#session === '' ? '' : `mcp-session-id: ${this.#session}\r\n`;
  }

  #receive(text: string): void {
    this.#received = this.#received === '' ? text : this.#received + text;
    const headEnd = this.#received.indexOf(endOfHead);
    if (headEnd === -1) return;
    const head = this.#received.slice(0, headEnd);
    const bodyStart = headEnd + endOfHead.length;
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    // A response without a length is chunked, and only one response is expected.
    const isWhole =
      length === undefined
        ? this.#received.endsWith(lastChunk)
        : this.#received.length >= bodyStart + Number(length);
    if (!isWhole) return;
    const body = this.#received.slice(bodyStart);
    this.#received = '';
    this.#answered(head, body);
  }
}

function isAnswerTo(id: number, head: string, body: string): boolean {
  const member = `"id":${id}`;
  const at = body.indexOf(member);
  const after = body[at + member.length];
  return head.startsWith('HTTP/1.1 200') && at !== -1 && (after === ',' || after === '}');
}
