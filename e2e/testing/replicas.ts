import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testPort } from '@toolhive/testing/port';
import { startRunner } from './proxy-runner.ts';
import type { Runner } from './proxy-runner.ts';
import { until } from './thv.ts';

/** The program of the servers. */
const serverProgram = new URL('session-server.ts', import.meta.url).pathname;

/** Several proxies in front of several servers, and a balancer without affinity in front of the proxies. */
export interface Installation extends AsyncDisposable {
  /** The endpoint of the balancer. */
  url: URL;
  balancer: Balancer;
  proxies: Runner[];
  servers: ChildProcess[];
  /** Starts another proxy instead of one that has ended. */
  replace: (at: number) => Promise<void>;
}

export interface InstallationOptions {
  mode?: 'legacy' | 'modern';
  proxies?: number;
  servers?: number;
  /** Further fields of the run config. */
  config?: object;
  flags?: string[];
  /** Further environment variables of the proxies. */
  env?: NodeJS.ProcessEnv;
}

/** Starts servers, proxies, and a balancer as processes and listeners of this machine. */
export async function startInstallation({
  mode = 'legacy',
  proxies: proxyCount = 3,
  servers: serverCount = 3,
  config = {},
  flags = [],
  env = {},
}: InstallationOptions = {}): Promise<Installation> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtempDisposable(join(tmpdir(), 'thv-replicas-'));
  stack.use(folder);
  const keys = join(folder.path, 'keys');
  await mkdir(keys);
  await writeFile(join(keys, 'current'), randomBytes(32).toString('base64'));
  const pods: string[] = [];
  const servers: ChildProcess[] = [];
  for (let number = 0; number < serverCount; number += 1) {
    const port = await testPort();
    const child = spawn(process.execPath, [serverProgram, mode, `pod-${number}`, String(port)], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    stack.defer(() => void child.kill('SIGKILL'));
    servers.push(child);
    pods.push(`127.0.0.1:${port}`);
  }
  const startProxy = async (): Promise<Runner> => {
    const runner = await startRunner(
      { target_port: 1, insecure_no_auth: true, ...config },
      { POD_IP: '127.0.0.1', ...env },
      [
        '--session-keys',
        keys,
        '--peer-port',
        String(await testPort()),
        ...pods.flatMap((pod) => ['--server-pod', pod]),
        ...flags,
      ],
      { host: null },
    );
    await until(async () => (await runner.health()).status === 200);
    return runner;
  };
  const proxies = await Promise.all(Array.from({ length: proxyCount }, startProxy));
  stack.defer(async () => {
    for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
  });
  const balancer = stack.use(await Balancer.open(proxies.map(({ url }) => Number(new URL(url).port))));
  const kept = stack.move();
  return {
    url: new URL(`http://127.0.0.1:${balancer.port}/mcp`),
    balancer,
    proxies,
    servers,
    async replace(at) {
      const before = proxies[at];
      await before?.[Symbol.asyncDispose]();
      const runner = await startProxy();
      proxies[at] = runner;
      balancer.targets[at] = Number(new URL(runner.url).port);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** A load balancer that sends each connection to a random proxy, and tries another one if that refuses. */
class Balancer implements AsyncDisposable {
  readonly targets: number[];
  readonly #server = createServer();
  readonly #sockets = new Set<Socket>();
  #only: number | undefined;

  private constructor(targets: number[]) {
    this.targets = [...targets];
    this.#server.on('connection', (client) => this.#pass(client));
  }

  static async open(targets: number[]): Promise<Balancer> {
    const balancer = new Balancer(targets);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Sends all new connections to one proxy. */
  choose(at: number | undefined): void {
    this.#only = at;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #pass(client: Socket): void {
    const order = this.targets.toSorted(() => Math.random() - 0.5);
    const only = this.#only === undefined ? undefined : this.targets[this.#only];
    this.#sockets.add(client);
    client.on('error', () => {}).once('close', () => this.#sockets.delete(client));
    const next = (): void => {
      const port = only ?? order.pop();
      if (port === undefined) return void client.destroy();
      const upstream = connect(port, '127.0.0.1');
      upstream.once('error', () => (upstream.connecting || only !== undefined ? client.destroy() : next()));
      upstream.once('connect', () => {
        upstream.removeAllListeners('error').on('error', () => client.destroy());
        client.pipe(upstream).pipe(client);
        client.once('close', () => upstream.destroy());
        upstream.once('close', () => client.destroy());
      });
    };
    next();
  }
}

export interface Reply {
  status: number;
  headers: IncomingMessage['headers'];
  /** The JSON-RPC messages in the reply. */
  messages: RpcMessage[];
  text: string;
  /** The IDs of its events. */
  eventIds: string[];
}

export interface RpcMessage {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: { content?: { text: string }[]; [field: string]: unknown };
  error?: { code: number; message: string };
}

/** What a client does while it reads a reply. */
interface Reading {
  onMessage?: (message: RpcMessage) => void;
  onEventId?: (id: string) => void;
  signal?: AbortSignal;
}

/** A client whose every request takes a new connection. */
export class RawClient {
  readonly name: string;
  readonly version: string;
  session: string | undefined;
  readonly #url: URL;
  readonly #token: string | undefined;
  #lastId = 0;

  constructor(url: URL, version: string, name: string, token?: string) {
    this.#url = url;
    this.version = version;
    this.name = name;
    this.#token = token;
  }

  get isModern(): boolean {
    return this.version === '2026-07-28';
  }

  async open(): Promise<this> {
    if (this.isModern) return this;
    const clientInfo = { name: this.name, version: '1' };
    const params = { protocolVersion: this.version, capabilities: { elicitation: {} }, clientInfo };
    const reply = await this.post({ id: 0, method: 'initialize', params });
    this.session = reply.headers['mcp-session-id'] as string | undefined;
    if (reply.status !== 200 || this.session === undefined)
      throw new Error(`no session: ${reply.status} ${reply.text}`);
    await this.post({ method: 'notifications/initialized' });
    return this;
  }

  async call(name: string, given: object = {}, more: object = {}): Promise<Reply> {
    const params = { name, arguments: given, ...more, ...(this.isModern ? { _meta: this.#meta() } : {}) };
    return this.post({ id: ++this.#lastId, method: 'tools/call', params });
  }

  /** Calls a tool, and returns its text as JSON. Throws if there is no result. */
  async told(name: string, given: object = {}, more: object = {}): Promise<Record<string, unknown>> {
    const reply = await this.call(name, given, more);
    const answer = reply.messages.find(({ result, error }) => (result ?? error) !== undefined);
    const text = answer?.result?.content?.[0]?.text;
    if (reply.status !== 200 || text === undefined)
      throw new Refused(`${this.version} ${name}: ${reply.status} ${reply.text.slice(0, 300)}`, reply.status);
    return JSON.parse(text) as Record<string, unknown>;
  }

  post(message: RpcMessage | object, onMessage?: (message: RpcMessage) => void): Promise<Reply> {
    const reading = onMessage === undefined ? {} : { onMessage };
    return this.send('POST', JSON.stringify({ jsonrpc: '2.0', ...message }), {}, reading);
  }

  async send(
    method: string,
    body?: string,
    more: Record<string, string> = {},
    { onMessage, onEventId, signal }: Reading = {},
  ): Promise<Reply> {
    const message =
      body === undefined ? {} : (JSON.parse(body) as RpcMessage & { params?: { name?: string } });
    const sent = request(this.#url, {
      method,
      agent: false,
      ...(signal === undefined ? {} : { signal }),
      headers: {
        'content-type': 'application/json',
        accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
        ...(this.session === undefined ? {} : { 'mcp-session-id': this.session }),
        ...(message.method === 'initialize' ? {} : { 'mcp-protocol-version': this.version }),
        ...(this.isModern ? { 'mcp-method': message.method, 'mcp-name': message.params?.name } : {}),
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
        ...more,
      },
    });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    const events = (): { id: string | undefined; data: string }[] =>
      text
        .split('\n\n')
        .slice(0, -1)
        .map((event) => ({
          id: /^id: (.*)$/m.exec(event)?.[1],
          data: /^data: (.*)$/m.exec(event)?.[1] ?? '',
        }));
    const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
    let seen = 0;
    response.setEncoding('utf8');
    for await (const chunk of response) {
      text += chunk;
      for (const { id, data } of isStream ? events().slice(seen) : []) {
        seen += 1;
        if (id !== undefined) onEventId?.(id);
        if (data !== '') onMessage?.(JSON.parse(data) as RpcMessage);
      }
    }
    const parsed = isStream
      ? events().flatMap(({ data }) => (data === '' ? [] : [JSON.parse(data) as RpcMessage]))
      : response.headers['content-type']?.startsWith('application/json') === true
        ? [JSON.parse(text) as RpcMessage]
        : [];
    const status = response.statusCode ?? 0;
    const eventIds = isStream ? events().flatMap(({ id }) => id ?? []) : [];
    return { status, headers: response.headers, messages: parsed, text, eventIds };
  }

  #meta(): object {
    return {
      'io.modelcontextprotocol/protocolVersion': this.version,
      'io.modelcontextprotocol/clientInfo': { name: this.name, version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    };
  }
}

/** The proxies answered, but not with a result. */
export class Refused extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}
