// MCP servers without dependencies, so that they run inside a sandbox and inside an image made from scratch.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { open, readFile, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * What a server may touch of the outside. `main.js` gives it the process's own; a test may give it streams.
 * @typedef {{ args: string[], env: Record<string, string | undefined>, input: import('node:stream').Readable,
 *   output: import('node:stream').Writable, error: import('node:stream').Writable,
 *   exit: (code: number) => void, ignoreTermination: () => void }} World
 */

/** The protocol revisions that these servers speak, newest first. */
export const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

const text = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
});
const failed = (error) => ({ ...text(`${error.code ?? error.name}: ${error.message}`), isError: true });

/** Tools by name. Each gets the call's arguments, and a context to reach its server with. */
const tools = {
  /** Returns what it was given. */
  echo: (given) => text(given.message ?? ''),
  /** Answers after `ms`, with progress on the way if asked for. */
  async slow({ ms = 1000, steps = 0 }, { notify, progressToken }) {
    for (let step = 1; step <= steps; step++) {
      await delay(ms / steps);
      if (progressToken !== undefined)
        notify('notifications/progress', { progressToken, progress: step, total: steps });
    }
    if (steps === 0) await delay(ms);
    return text('done');
  },
  /** Ends the server in the middle of the call. */
  crash: ({ code = 1 }, { world }) => world.exit(code),
  /** Tells which instance answers, to see restarts. */
  instance: (_given, { instance }) => text(instance),
  /** The server's whole environment, to see what leaked into it. */
  environment: (_given, { world }) => text(world.env),
  arguments: (_given, { world }) => text(world.args),
  read: async ({ path }) => text(await readFile(path, 'utf8')),
  list: async ({ path }) => text(await readdir(path)),
  write: async ({ path, content = 'x' }) => text((await writeFile(path, content)) ?? 'written'),
  /** Opens a TCP connection, to see what the network lets through. */
  async dial({ host, port, ms = 2000 }) {
    const socket = connect({ host, port: Number(port) });
    try {
      await once(socket, 'connect', { signal: AbortSignal.timeout(ms) });
      return text('connected');
    } finally {
      socket.destroy();
    }
  },
  async execute({ command, args = [] }) {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    const [code] = await once(child, 'close');
    return text({ code, output });
  },
  /** Keeps `mebibytes` of memory in use. */
  allocate({ mebibytes }, state) {
    state.kept ??= [];
    for (let i = 0; i < mebibytes; i++) state.kept.push(Buffer.alloc(1024 * 1024, 1));
    return text(`${mebibytes} MiB`);
  },
  /** Tries to keep `count` idle processes running and tells how many it got. */
  async processes({ count }, state) {
    state.children ??= [];
    let started = 0;
    for (let i = 0; i < count; i++) {
      const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
      const [event] = await Promise.race([once(child, 'spawn').then(() => ['spawn']), once(child, 'error')]);
      if (event !== 'spawn') break;
      state.children.push(child);
      started++;
    }
    return text(started);
  },
  /** Tries to keep `count` files open and tells how many it got, and why no more. */
  async 'open-files'({ count }) {
    const files = [];
    try {
      while (files.length < count) files.push(await open('/dev/null'));
      return text({ opened: files.length });
    } catch (error) {
      return text({ opened: files.length, code: error.code });
    } finally {
      await Promise.all(files.map((file) => file.close()));
    }
  },
  /** Computes for `ms` and tells which part of that time it had a processor. */
  burn({ ms }) {
    const started = performance.now();
    const before = process.cpuUsage();
    while (performance.now() - started < ms);
    const { user, system } = process.cpuUsage(before);
    return text((user + system) / 1000 / (performance.now() - started));
  },
  /** A result of about `bytes` bytes. */
  large: ({ bytes = 1_000_000 }) => text('x'.repeat(bytes)),
  /** Writes to standard error. */
  complain: ({ message = 'something is off' }, { world }) =>
    text(world.error.write(`${message}\n`) ? 'complained' : 'full'),
  /** Writes so much to standard error, as fast as that is read, and a last line. */
  async shout({ mebibytes }, { world }) {
    const block = `${'x'.repeat(1023)}\n`.repeat(1024);
    for (let i = 0; i < mebibytes; i++) if (!world.error.write(block)) await once(world.error, 'drain');
    world.error.write('that was all\n');
    return text('shouted');
  },
};

const toolList = Object.keys(tools).map((name) => ({
  name,
  description: `Test tool ${name}.`,
  inputSchema: { type: 'object' },
}));

/** Answers one JSON-RPC message; undefined where there is nothing to say. */
export async function answer(message, state) {
  if (message.id === undefined || message.method === undefined) return undefined;
  try {
    return { jsonrpc: '2.0', id: message.id, result: await result(message, state) };
  } catch (error) {
    return {
      jsonrpc: '2.0',
      id: message.id,
      error: { code: error.rpcCode ?? -32603, message: error.message },
    };
  }
}

async function result({ method, params = {} }, state) {
  switch (method) {
    case 'initialize':
      if (state.initialized) throw Object.assign(new Error('initialize was sent twice'), { rpcCode: -32600 });
      if (!state.manySessions) state.initialized = true;
      return {
        protocolVersion: revisions.includes(params.protocolVersion) ? params.protocolVersion : revisions[0],
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
        serverInfo: { name: `test-${state.manners}`, version: '1.0.0' },
      };
    case 'ping':
    case 'logging/setLevel':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return {};
    case 'tools/list':
      return { tools: toolList };
    case 'resources/list':
      return { resources: [{ uri: 'test://one', name: 'one' }] };
    case 'resources/read':
      return { contents: [{ uri: params.uri, text: 'one' }] };
    case 'tools/call': {
      const tool = Object.hasOwn(tools, params.name) ? tools[params.name] : undefined;
      if (tool === undefined) throw Object.assign(new Error(`no tool ${params.name}`), { rpcCode: -32602 });
      state.progressToken = params._meta?.progressToken;
      return Promise.resolve()
        .then(() => tool(params.arguments ?? {}, state))
        .catch(failed);
    }
    default:
      throw Object.assign(new Error(`method ${method} not found`), { rpcCode: -32601 });
  }
}

/** What one running server remembers. */
export function newState(manners, world, notify) {
  return { manners, world, notify, instance: randomUUID(), initialized: false };
}

/** Serves over standard input and output until the input ends. `manners` is a key of `misbehaviours` or `echo`. */
export async function serveStdio(manners, world) {
  const send = (message) => world.output.write(`${JSON.stringify(message)}\n`);
  const state = newState(manners, world, (method, params) => send({ jsonrpc: '2.0', method, params }));
  const misbehave = Object.hasOwn(misbehaviours, manners) ? misbehaviours[manners] : undefined;
  if ((await misbehave?.({ world, send })) === 'done') return;

  const lines = createInterface({ input: world.input, crlfDelay: Infinity });
  for await (const line of lines) {
    if (line.trim() === '') continue;
    const message = JSON.parse(line);
    void answer(message, state).then((reply) => reply && send(reply));
  }
  if (manners !== 'stubborn') world.exit(0);
}

/** Bad manners by name; one that answers `done` never serves. */
export const misbehaviours = {
  /** Says why on standard error and ends before anybody asked anything. */
  'exit-at-once': ({ world }) => {
    world.error.write('cannot start: THE_SETTING is not set\n');
    world.exit(3);
    return 'done';
  },
  /** Wants to reach the host and port of its arguments, says what came of it on standard error, and serves. */
  'calls-out': async ({ world }) => {
    const [host, port] = world.args;
    const said = await tools.dial({ host, port }).then(
      ({ content }) => content[0].text,
      (error) => error.message,
    );
    world.error.write(`${host}: ${said}\n`);
  },
  /** Never answers anything. */
  silent: async ({ world }) => {
    world.input.resume();
    await once(world.input, 'end');
    world.exit(0);
    return 'done';
  },
  /** Prints what is no protocol on standard output, then serves. */
  noise: ({ world }) => {
    world.output.write('Welcome to the server!\n\n{not json}\n[1,2\n"a string"\n');
  },
  /** Prints what is no protocol on standard output in a flood when a tool is called. */
  flood: ({ world }) => {
    world.input.on('data', (chunk) => {
      if (chunk.includes('tools/call')) world.output.write('not a message\n'.repeat(20_000));
    });
  },
  /** Talks a lot on standard error, then serves. */
  chatty: ({ world }) => {
    for (let line = 1; line <= 5000; line++) world.error.write(`line ${line} of a long story\n`);
  },
  /** Takes its time before it serves. */
  'slow-start': async ({ world }) => {
    await delay(Number(world.args[0] ?? 1500));
  },
  /** Serves only after a browser has come back from a sign-in page to the port in its first argument. */
  'signs-in': async ({ world }) => {
    const [port] = world.args;
    const browser = createServer((request, response) => response.end('signed in'));
    browser.listen(Number(port), '127.0.0.1');
    const redirect = encodeURIComponent(`http://localhost:${port}/callback`);
    world.error.write(`To sign in, open https://login.example/authorize?scope=a&redirect_uri=${redirect}\n`);
    await once(browser, 'request');
  },
  /** Closes its output and lives on. */
  'closes-output': () => {
    closeSync(1);
    setInterval(() => {}, 60_000);
    return 'done';
  },
  /** Ignores the polite request to end. */
  stubborn: ({ world }) => world.ignoreTermination(),
};
