import { Agent, request as httpRequest } from 'node:http';
import { ask, askAndFollow, workloadsPath } from '../ask.ts';
import type { Figure } from '../measurement.ts';
import { imageWithTools, toolCount } from '../servers/tiny-servers.ts';
import { quantile } from '../statistics.ts';
import type { BenchmarkContext } from './benchmarks.ts';
import { startDaemon } from './daemon.ts';

const servers = 20;
const warmUp = 100;
const requests = 1_000;

/** How long the list of all tools of a group takes at its combined endpoint, received but not parsed. */
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
  while (client.toolsIn(await client.list()) < servers * toolCount) signal.throwIfAborted();
  const latenciesMs: number[] = [];
  for (let at = 0; at < warmUp + requests; at++) {
    signal.throwIfAborted();
    const startedMs = performance.now();
    await client.list();
    if (at >= warmUp) latenciesMs.push(performance.now() - startedMs);
  }
  const what = `tools/list of ${servers} servers with ${servers * toolCount} tools`;
  return [
    { what: `${what}, p50`, unit: 'ms', ours: quantile(latenciesMs, 0.5), comparison: 'itself' },
    { what: `${what}, p99`, unit: 'ms', ours: quantile(latenciesMs, 0.99), comparison: 'itself', budget: 3 },
  ];
}

/** A client of one session that asks for lists, one after the other. */
class ListingClient implements Disposable {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #session: string | undefined;

  constructor(url: string) {
    this.#url = url;
  }

  async open(): Promise<void> {
    const clientInfo = { name: 'bench', version: '1' };
    await this.#send('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  }

  list(): Promise<string> {
    return this.#send('tools/list', {});
  }

  toolsIn(list: string): number {
    return list.split('"inputSchema"').length - 1;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  #send(method: string, params: object): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const request = httpRequest(
      this.#url,
      {
        method: 'POST',
        agent: this.#agent,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-11-25',
          ...(this.#session === undefined ? {} : { 'mcp-session-id': this.#session }),
        },
      },
      (response) => {
        this.#session ??= response.headers['mcp-session-id']?.toString();
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('error', reject);
        response.on('end', () => {
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`${method} was answered with ${response.statusCode}: ${text}`));
        });
      },
    );
    request.on('error', reject);
    request.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    return promise;
  }
}
