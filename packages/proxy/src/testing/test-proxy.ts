import { freePort } from '@toolhive/runtime/free-port';
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
  invalidOutput: string[];
  faults: unknown[];
  /** Why its server was to be stopped. */
  excesses: string[];
  /** Starts a test server and puts it behind the proxy. */
  connect(manners?: string): Promise<Instance>;
}

export async function openTestProxy(changes: Partial<ProxyOptions> = {}): Promise<TestProxy> {
  await using opened = new AsyncDisposableStack();
  const invalidOutput: string[] = [];
  const faults: unknown[] = [];
  const excesses: string[] = [];
  const port = await freePort();
  const proxy = opened.use(
    await WorkloadProxy.open({
      workload: 'test',
      host: '127.0.0.1',
      port,
      transport: 'stdio',
      sessions: 'shared',
      version: 'v0.0.0-test',
      onInvalidOutput: (line) => invalidOutput.push(line),
      onExcess: (reason) => excesses.push(reason),
      onFault: (error) => faults.push(error),
      ...changes,
    }),
  );
  const everything = opened.move();
  return {
    proxy,
    url: `http://127.0.0.1:${port}`,
    invalidOutput,
    faults,
    excesses,
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

/** A session of streamable HTTP, spoken by hand: what a test needs to say that no official client would. */
export class RawSession {
  readonly #endpoint: string;
  id = '';
  #lastId = 0;

  constructor(url: string, path = '/mcp') {
    this.#endpoint = `${url}${path}`;
  }

  static async open(url: string, client: object = {}): Promise<RawSession> {
    const session = new RawSession(url);
    const response = await session.post({
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', ...client },
    });
    session.id = response.headers.get('mcp-session-id') ?? '';
    await response.body?.cancel();
    return session;
  }

  post(message: object, headers: Record<string, string> = {}): Promise<Response> {
    return this.postText(JSON.stringify({ jsonrpc: '2.0', ...message }), headers);
  }

  /** A request for a tool, with an id that the test has chosen. */
  postCall(id: unknown, name: string, given: object = {}, more: object = {}): Promise<Response> {
    return this.post({ id, method: 'tools/call', params: { name, arguments: given, ...more } });
  }

  postText(body: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.#endpoint, { method: 'POST', headers: { ...this.headers(), ...headers }, body });
  }

  /** A request without a body, or a ping. */
  send(method: string): Promise<Response> {
    if (method === 'POST') return this.post({ id: 1, method: 'ping' });
    return fetch(this.#endpoint, {
      method,
      headers: { ...this.headers(), 'mcp-session-id': this.id || 'none' },
    });
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
    const { result, error } = await answerOf(await this.postCall(++this.#lastId, name, given));
    if (error !== undefined) throw new Error(error.message);
    const content = result?.['content'] as { text: string }[] | undefined;
    return content?.[0]?.text ?? '';
  }

  /** Opens the session's own stream, or the one of an earlier event, and reads messages from it. */
  async listen(lastEventId?: string): Promise<AsyncIterableIterator<Received> & AsyncDisposable> {
    const aborted = new AbortController();
    const response = await this.get(lastEventId, aborted.signal);
    const messages = readEvents(response);
    return Object.assign(messages, { [Symbol.asyncDispose]: async () => aborted.abort() });
  }

  get(lastEventId?: string, signal?: AbortSignal): Promise<Response> {
    const resumed: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    return fetch(this.#endpoint, { headers: { ...this.headers(), ...resumed }, signal });
  }

  end(): Promise<Response> {
    return fetch(this.#endpoint, { method: 'DELETE', headers: this.headers() });
  }
}

/** A message as a client gets it. */
export interface Received {
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: { [key: string]: unknown };
  error?: { code: number; message: string };
}

/** The messages of an event stream, as they come. */
export async function* readEvents(response: Response): AsyncGenerator<Received> {
  for await (const { message } of readRawEvents(response)) if (message !== undefined) yield message;
}

/** The events of a stream with their ids; an empty one only tells its id. */
export async function* readRawEvents(
  response: Response,
): AsyncGenerator<{ id: string | undefined; message: Received | undefined }> {
  let rest = '';
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.*)$/m.exec(event)?.[1];
      const id = /^id: (.*)$/m.exec(event)?.[1];
      if (data !== undefined) yield { id, message: data === '' ? undefined : JSON.parse(data) };
    }
  }
}

/** What a request was answered with in the end, however that came. */
export async function answerOf(response: Response): Promise<Received> {
  const type = response.headers.get('content-type') ?? '';
  const messages = type.startsWith('text/event-stream')
    ? await Array.fromAsync(readEvents(response))
    : [(await response.json()) as Received];
  const answer = messages.findLast(({ result, error }) => result !== undefined || error !== undefined);
  if (answer === undefined) throw new Error('there was no answer');
  return answer;
}

/** What a modern client sends along with a request. */
export interface ModernOptions {
  id?: string | number;
  capabilities?: object;
  clientInfo?: object;
  signal?: AbortSignal;
  headers?: Record<string, string>;
  /** Further members of `_meta`. */
  _meta?: object;
}

/** A request as a modern client makes it. */
export function postModern(
  url: string,
  method: string,
  params: { [key: string]: unknown; name?: string } = {},
  { id = 1, capabilities = {}, clientInfo, signal, headers = {}, _meta: more }: ModernOptions = {},
): Promise<Response> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...(clientInfo === undefined ? {} : { 'io.modelcontextprotocol/clientInfo': clientInfo }),
    ...more,
  };
  return fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(params.name === undefined ? {} : { 'mcp-name': params.name }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
    signal,
  });
}
