import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { ask, askAndFollow, workloadsPath } from '../ask.ts';
import type { Figure } from '../measurement.ts';
import { imageWithTools, toolCount } from '../servers/tiny-servers.ts';
import { quantile } from '../statistics.ts';
import type { BenchmarkContext } from './benchmarks.ts';
import { startDaemon } from './daemon.ts';

const servers = 20;
const warmUp = 500;
const requests = 5_000;

/** How long the list of all tools of a group takes at its combined endpoint, received but neither decoded nor parsed. */
export async function combined({ signal }: BenchmarkContext): Promise<Figure[]> {
  await using daemon = await startDaemon('memory');
  const { socketPath } = daemon.ready;
  const group = 'all';
  await ask({
    socketPath,
    method: 'POST',
    path: '/api/v1beta/groups',
    body: { name: group, endpoint: 'combined' },
  });
  for (let at = 0; at < servers; at++) {
    signal.throwIfAborted();
    const body = { name: `bench-${at}`, image: imageWithTools, group };
    await askAndFollow({ socketPath, method: 'POST', path: workloadsPath, body });
  }
  const text = await ask({ socketPath, method: 'GET', path: `${workloadsPath}/combined-${group}` });
  const { proxy_url: url } = JSON.parse(text) as { proxy_url: string };
  using client = new ListingClient(url);
  await client.open();
  while (toolsIn(await client.list()) < servers * toolCount) signal.throwIfAborted();
  const { length: expected } = await client.list();
  const latenciesMs: number[] = [];
  for (let at = 0; at < warmUp + requests; at++) {
    signal.throwIfAborted();
    const startedMs = performance.now();
    const { length } = await client.list();
    if (at >= warmUp) latenciesMs.push(performance.now() - startedMs);
    if (length !== expected) throw new Error(`a list of ${length} bytes instead of ${expected}`);
  }
  const what = `tools/list of ${servers} servers with ${servers * toolCount} tools`;
  return [
    { what: `${what}, p50`, unit: 'ms', ours: quantile(latenciesMs, 0.5), comparison: 'itself' },
    { what: `${what}, p99`, unit: 'ms', ours: quantile(latenciesMs, 0.99), comparison: 'itself', budget: 3 },
  ];
}

/**
 * A client of one session that asks for lists, one after the other. It reads into one buffer, because otherwise its own
 * garbage collection would take longer than most answers.
 */
class ListingClient implements Disposable {
  readonly #url: URL;
  readonly #socket: Socket;
  readonly #received = Buffer.alloc(4 * 1024 * 1024);
  #bytes = 0;
  #session = '';
  #answered: (answer: Answer) => void = () => {};
  #failed: (error: Error) => void = () => {};

  constructor(url: string) {
    this.#url = new URL(url);
    this.#socket = connect({
      host: this.#url.hostname,
      port: Number(this.#url.port),
      noDelay: true,
      onread: {
        buffer: Buffer.alloc(256 * 1024),
        callback: (count, buffer) => this.#read(buffer.subarray(0, count)),
      },
    });
    this.#socket.on('error', (error) => this.#failed(error));
    this.#socket.on('close', () => this.#failed(new Error('the endpoint closed the connection')));
  }

  async open(): Promise<void> {
    const clientInfo = { name: 'bench', version: '1' };
    const { head } = await this.#ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo,
    });
    this.#session = /^mcp-session-id: *\S+\r\n/im.exec(head)?.[0] ?? '';
  }

  /** Returns the body, which is only there until the next request. */
  async list(): Promise<Buffer> {
    return (await this.#ask('tools/list', {})).body;
  }

  [Symbol.dispose](): void {
    this.#failed = () => {};
    this.#socket.destroy();
  }

  #ask(method: string, params: object): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#answered = resolve;
    this.#failed = reject;
    this.#bytes = 0;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    this.#socket.write(
      `POST ${this.#url.pathname} HTTP/1.1\r\nhost: ${this.#url.host}\r\ncontent-type: application/json\r\n` +
        `accept: application/json, text/event-stream\r\nmcp-protocol-version: 2025-11-25\r\n${this.#session}` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
    return promise;
  }

  #read(chunk: Uint8Array): boolean {
    this.#received.set(chunk, this.#bytes);
    this.#bytes += chunk.length;
    const headEnd = this.#received.subarray(0, this.#bytes).indexOf('\r\n\r\n');
    if (headEnd === -1) return true;
    const head = this.#received.toString('latin1', 0, headEnd + 2);
    const start = headEnd + 4;
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1]);
    if (!head.startsWith('HTTP/1.1 200') || Number.isNaN(length)) this.#failed(new Error(head));
    else if (this.#bytes === start + length)
      this.#answered({ head, body: this.#received.subarray(start, this.#bytes) });
    return true;
  }
}

interface Answer {
  head: string;
  body: Buffer;
}

function toolsIn(list: Buffer): number {
  return list.toString().split('"inputSchema"').length - 1;
}
