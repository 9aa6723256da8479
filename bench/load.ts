import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** What a stretch of load came to. */
export interface LoadResult {
  requests: number;
  ms: number;
  /** How long each answer took. */
  latenciesMs: number[];
}

/**
 * Calls a tool over and over, on connections that stay open, each with a session of its own and one request under
 * way. It speaks just enough HTTP to be no bottleneck, and looks at the id of every answer.
 */
export class Load implements Disposable {
  readonly #connections: Connection[];

  private constructor(connections: Connection[]) {
    this.#connections = connections;
  }

  static async open(port: number, connections: number): Promise<Load> {
    const opened = Array.from({ length: connections }, () => Connection.open(port));
    return new Load(await Promise.all(opened));
  }

  async run(durationMs: number): Promise<LoadResult> {
    const latenciesMs: number[] = [];
    const startedMs = performance.now();
    const endMs = startedMs + durationMs;
    await Promise.all(this.#connections.map((connection) => connection.callUntil(endMs, latenciesMs)));
    return { requests: latenciesMs.length, ms: performance.now() - startedMs, latenciesMs };
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections) connection[Symbol.dispose]();
  }
}

/** Ids are never used twice: servers may remember them. */
let lastId = 0;

const endOfHead = '\r\n\r\n';

class Connection implements Disposable {
  readonly #socket: Socket;
  readonly #port: number;
  #session = '';
  #received = '';
  #answered: (head: string, body: string) => void = () => {};
  #failed: (error: Error) => void = () => {};

  private constructor(socket: Socket, port: number) {
    this.#socket = socket;
    this.#port = port;
    socket.setNoDelay(true);
    socket.setEncoding('latin1'); // a character is a byte, as Content-Length counts
    socket.on('data', (text: string) => this.#receive(text));
    socket.on('error', (error) => this.#failed(error));
    socket.on('close', () => this.#failed(new Error(`port ${port} closed the connection`)));
  }

  /** Connects, and begins a session if the server has sessions. */
  static async open(port: number): Promise<Connection> {
    const socket = connect({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    const connection = new Connection(socket, port);
    const head = await connection.#initialize();
    connection.#session = /^mcp-session-id: *(\S+)/im.exec(head)?.[1] ?? '';
    return connection;
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
    this.#socket.destroy();
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
    const session = this.#session === '' ? '' : `mcp-session-id: ${this.#session}\r\n`;
    this.#socket.write(
      `POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:${this.#port}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n${session}content-length: ${body.length}\r\n\r\n${body}`,
      'latin1',
    );
  }

  #receive(text: string): void {
    this.#received = this.#received === '' ? text : this.#received + text;
    const headEnd = this.#received.indexOf(endOfHead);
    if (headEnd === -1) return;
    const head = this.#received.slice(0, headEnd);
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1]);
    if (Number.isNaN(length)) return this.#failed(new Error(`an answer without a length: ${head}`));
    const bodyStart = headEnd + endOfHead.length;
    if (this.#received.length < bodyStart + length) return;
    const body = this.#received.slice(bodyStart, bodyStart + length);
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
