import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import type { Exit, Instance } from '@toolhive/runtime/runtime';
import type { ProxyOptions } from '../proxy.ts';
import { openTestProxy } from './test-proxy.ts';
import type { RawSession, TestProxy } from './test-proxy.ts';

/** A message as a server reads and writes it. */
export interface Said {
  id?: string | number;
  method?: string;
  params?: {
    [key: string]: unknown;
    name?: string;
    arguments?: Record<string, unknown>;
    _meta?: { progressToken?: unknown };
  };
  result?: unknown;
  error?: unknown;
}

type Answer = (server: ScriptedServer, message: Said) => unknown;

const text = (value: unknown): object => ({ content: [{ type: 'text', text: String(value) }] });

const tools: Record<string, Answer> = {
  instance: ({ id }) => text(id),
  remember: (server, { params }) => text((server.memory = String(params?.arguments?.['value']))),
  recall: ({ memory }) => text(memory),
  /** Is answered when the test says so. */
  hold: () => undefined,
  /** Says something of its own accord, and then answers. */
  say(server, { params }) {
    server.send(params?.arguments ?? {});
    return text('said');
  },
  /** Asks the client, and answers with what that has said. */
  ask(server, { id, params }) {
    const question = `q${++server.asked}`;
    server.onAnswer(question, ({ result, error }) =>
      server.send({ id, result: text(JSON.stringify(result ?? error)) }),
    );
    server.send({ id: question, ...params?.arguments });
  },
};

const methods: Record<string, Answer> = {
  initialize: (_server, { params }) => ({
    protocolVersion: params?.['protocolVersion'],
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
    serverInfo: { name: 'scripted', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })),
  }),
  'logging/setLevel': () => ({}),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'tools/call': (server, message) => tools[message.params?.name ?? '']?.(server, message),
};

/** A legacy server on streams of this process: a test sees all that it hears, and has it say anything. */
export class ScriptedServer implements Instance {
  readonly id: string;
  readonly stdio = { input: new PassThrough(), output: new PassThrough() };
  readonly exited: Promise<Exit>;
  /** Everything that it was sent. */
  readonly heard: Said[] = [];
  /** How it answers otherwise than usual; a method that is named with nothing gets no answer. */
  readonly manners: Record<string, Answer | undefined>;
  memory = '';
  asked = 0;
  isRunning = true;
  readonly #exit = Promise.withResolvers<Exit>();
  readonly #answers = new Map<unknown, (message: Said) => void>();

  constructor(id: string, manners: Record<string, Answer | undefined> = {}) {
    this.id = id;
    this.manners = manners;
    this.exited = this.#exit.promise;
    createInterface({ input: this.stdio.input }).on('line', (line) => this.#hear(JSON.parse(line)));
  }

  send(message: object): void {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  write(bytes: string | Buffer): void {
    if (this.isRunning) this.stdio.output.write(bytes);
  }

  onAnswer(id: unknown, listener: (message: Said) => void): void {
    this.#answers.set(id, listener);
  }

  /** Returns when the proxy has read everything that the server has sent. Unlike a call, this concerns no client. */
  async read(): Promise<void> {
    const id = `read ${++this.asked}`;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.onAnswer(id, () => resolve());
    this.send({ id, method: 'ping' });
    await promise;
  }

  /** The methods that it has heard, of requests and notifications. */
  get methods(): (string | undefined)[] {
    return this.heard.map(({ method }) => method).filter((method) => method !== undefined);
  }

  /** The last request of a method that it has heard. */
  last(method: string): Said | undefined {
    return this.heard.findLast((message) => message.method === method);
  }

  exit(exit: Exit = { code: 1, signal: null }): void {
    this.isRunning = false;
    this.stdio.output.end();
    this.#exit.resolve(exit);
  }

  async stop(): Promise<void> {
    this.exit({ code: null, signal: 'SIGTERM' });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #hear(message: Said): void {
    this.heard.push(message);
    const { id, method = '' } = message;
    if (message.method === undefined) return this.#answers.get(id)?.(message);
    if (id === undefined) return;
    const all = { ...methods, ...this.manners };
    if (!(method in all)) return this.send({ id, error: { code: -32601, message: `no ${method}` } });
    const result = all[method]?.(this, message);
    if (result !== undefined) this.send({ id, result });
  }
}

/** A proxy with scripted servers behind it. */
export interface ScriptedProxy extends TestProxy {
  /** Every server that was started; the first one is shared. */
  servers: ScriptedServer[];
  /** Starts another server. */
  start(): Promise<ScriptedServer>;
  /** Those that still run. */
  readonly running: string[];
  /** The server whose process a session has. */
  serverOf(session: RawSession): Promise<ScriptedServer>;
}

/** With `rests`, the process of the first server may end while clients have others. */
export async function openScriptedProxy(
  changes: Partial<ProxyOptions> = {},
  manners: ScriptedServer['manners'] = {},
  { rests = false }: { rests?: boolean } = {},
): Promise<ScriptedProxy> {
  const test = await openTestProxy({ sessions: 'own', ...changes });
  const servers: ScriptedServer[] = [];
  const start = async (): Promise<ScriptedServer> => {
    const server = new ScriptedServer(`s${servers.length}`, manners);
    servers.push(server);
    return server;
  };
  const first = await start();
  const server = { stdio: first.stdio, ...(rests ? { rest: () => first.stop() } : {}) };
  await test.proxy.connect(server, start, new AbortController().signal);
  return {
    ...test,
    servers,
    start,
    get running() {
      return servers.filter(({ isRunning }) => isRunning).map(({ id }) => id);
    },
    async serverOf(session) {
      const id = await session.call('instance');
      const server = servers.find((candidate) => candidate.id === id);
      if (server === undefined) throw new Error(`there is no server ${id}`);
      return server;
    },
    async [Symbol.asyncDispose]() {
      await test[Symbol.asyncDispose]();
      for (const server of servers) server.exit();
    },
  };
}
