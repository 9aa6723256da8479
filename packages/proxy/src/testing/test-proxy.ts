import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Instance } from '@toolhive/runtime/runtime';
import { aLaunch } from '@toolhive/runtime/testing/conformance';
import { memoryTestServers, testServersSource } from '@toolhive/runtime/testing/memory-servers';
import { WorkloadProxy } from '../proxy.ts';
import type { ProxyOptions } from '../proxy.ts';

const never = new AbortController().signal;

/** A proxy on a real port, with test servers in memory to put behind it. */
export interface TestProxy extends AsyncDisposable {
  proxy: WorkloadProxy;
  url: string;
  junk: string[];
  faults: unknown[];
  /** Starts a test server and puts it behind the proxy. */
  connect(manners?: string): Promise<Instance>;
}

export async function openTestProxy(changes: Partial<ProxyOptions> = {}): Promise<TestProxy> {
  await using opened = new AsyncDisposableStack();
  const junk: string[] = [];
  const faults: unknown[] = [];
  const port = await freePort();
  const proxy = opened.use(
    await WorkloadProxy.open({
      workload: 'test',
      host: '127.0.0.1',
      port,
      transport: 'stdio',
      sessions: 'shared',
      version: 'v0.0.0-test',
      onJunk: (line) => junk.push(line),
      onFault: (error) => faults.push(error),
      ...changes,
    }),
  );
  const everything = opened.move();
  return {
    proxy,
    url: `http://127.0.0.1:${port}`,
    junk,
    faults,
    async connect(manners = 'echo') {
      const instance = everything.use(await startServer(changes.transport ?? 'stdio', manners));
      const startAnother = (): Promise<Instance> => startServer(changes.transport ?? 'stdio', manners);
      await proxy.connect(instance, startAnother, never);
      return instance;
    },
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

async function startServer(transport: ProxyOptions['transport'], manners: string): Promise<Instance> {
  const runtime = openMemoryRuntime(memoryTestServers);
  if (transport === 'stdio') return runtime.start(aLaunch(testServersSource, { args: [manners] }), never);
  const targetPort = await freePort();
  const launch = aLaunch(testServersSource, {
    args: [transport === 'sse' ? 'sse' : 'http'],
    transport: { kind: 'http', targetPort },
    env: { MCP_PORT: String(targetPort) },
  });
  return runtime.start(launch, never);
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A session of streamable HTTP, spoken by hand: what a test needs to say that no official client would. */
export class RawSession {
  readonly #endpoint: string;
  id = '';
  #lastId = 0;

  constructor(url: string, path = '/mcp') {
    this.#endpoint = `${url}${path}`;
  }

  static async open(url: string): Promise<RawSession> {
    const session = new RawSession(url);
    const response = await session.post({
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    });
    session.id = response.headers.get('mcp-session-id') ?? '';
    await response.body?.cancel();
    return session;
  }

  post(message: object, headers: Record<string, string> = {}): Promise<Response> {
    return this.postText(JSON.stringify({ jsonrpc: '2.0', ...message }), headers);
  }

  postText(body: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.#endpoint, { method: 'POST', headers: { ...this.headers(), ...headers }, body });
  }

  headers(): Record<string, string> {
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(this.id === '' ? {} : { 'mcp-session-id': this.id }),
    };
  }

  /** Calls a tool and gives the text of its answer, or throws the error. */
  async call(name: string, given: object = {}): Promise<string> {
    const response = await this.post({
      id: ++this.#lastId,
      method: 'tools/call',
      params: { name, arguments: given },
    });
    const { result, error } = (await response.json()) as {
      result?: { content: { text: string }[] };
      error?: { message: string };
    };
    if (error !== undefined) throw new Error(error.message);
    return result?.content[0]?.text ?? '';
  }

  /** Opens the session's own stream and reads messages from it. */
  async listen(): Promise<
    AsyncIterableIterator<{ method?: string; params?: Record<string, unknown> }> & AsyncDisposable
  > {
    const aborted = new AbortController();
    const response = await fetch(this.#endpoint, { headers: this.headers(), signal: aborted.signal });
    const messages = readEvents(response);
    return Object.assign(messages, { [Symbol.asyncDispose]: async () => aborted.abort() });
  }

  end(): Promise<Response> {
    return fetch(this.#endpoint, { method: 'DELETE', headers: this.headers() });
  }
}

/** The messages of an event stream, as they come. */
export async function* readEvents(
  response: Response,
): AsyncGenerator<{ id?: unknown; method?: string; params?: Record<string, unknown>; result?: unknown }> {
  let rest = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (data !== undefined && data !== '') yield JSON.parse(data); // an empty one only tells its id
    }
  }
}
