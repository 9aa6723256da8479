import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { makeUser, testServer } from '../../e2e/testing/thv.ts';
import type { User } from '../../e2e/testing/thv.ts';
import { familyOf } from '../../packages/runtime/src/proc.ts';
import { buildCli } from '../../scripts/build.ts';
import { isInstalled } from '@toolhive/testing/machine';
import { ask, askAndFollow, workloadsPath } from '../ask.ts';
import type { Figure } from '../measurement.ts';
import { inTurns, median } from '../statistics.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const rounds = 9;
const clients = 32;
const workloads = 10;
const megabyte = 1_000_000;
const serverScript = new URL('../../packages/test-servers/main.js', import.meta.url).pathname;

/** How long the first clients wait, and the memory of everything while workloads have a client each. */
export async function firstCalls({ signal, note }: BenchmarkContext): Promise<Figure[]> {
  if (!isInstalled('bwrap')) {
    note('!!! clients is SKIPPED: bwrap is not installed (Debian: bubblewrap)');
    return [];
  }
  await buildCli();
  await using user = await makeUser();
  const socketPath = await install(user);
  const contenders = {
    own: () => callWorkload(socketPath, 'own'),
    shared: () => callWorkload(socketPath, 'shared'),
    server: () => callServer(user.env),
  };
  await inTurns(1, contenders, signal);
  const times = await inTurns(rounds, contenders, signal);
  const reference = median(times.server);
  const compared = (
    what: string,
    values: readonly { [key in 'calledMs' | 'slowestMs']: number }[],
  ): Figure[] => [
    {
      what: `POST /workloads until the first tools/call is answered, ${what}`,
      unit: 'ms',
      ours: median(values.map(({ calledMs }) => calledMs)),
      reference,
      comparison: 'times',
    },
    {
      what: `the slowest first tools/call of ${clients} clients at once, ${what}`,
      unit: 'ms',
      ours: median(values.map(({ slowestMs }) => slowestMs)),
      reference,
      comparison: 'times',
    },
  ];
  const figures = [
    ...compared('with a process for each session', times.own),
    ...compared('with a process for all sessions', times.shared),
  ];
  return process.platform === 'linux' ? [...figures, await memoryWithClients()] : figures;
}

/** Starts the daemon and installs the server, so that neither counts. Returns the daemon's socket. */
async function install(user: User): Promise<string> {
  await user.mustThv('run', testServer, '--name', 'installs-it');
  await user.mustThv('rm', 'installs-it');
  return join(user.home, '.local/state/toolhive/hive.sock');
}

/** The daemon prepares for the next server after each start. Users seldom start two within this time. */
const idleMs = 1_000;

/** Starts a workload, calls a tool, and then calls the tool of every new session of many at once. */
async function callWorkload(socketPath: string, sessions: 'own' | 'shared') {
  await delay(idleMs);
  const startedMs = performance.now();
  const url = await createWorkload(socketPath, 'bench', { sessions });
  await callAsClient(url);
  const calledMs = performance.now() - startedMs;
  const slowestMs = Math.max(
    ...(await Promise.all(Array.from({ length: clients }, () => callAsClient(url)))),
  );
  await askAndFollow({ socketPath, method: 'DELETE', path: `${workloadsPath}/bench` });
  return { calledMs, slowestMs };
}

async function createWorkload(socketPath: string, name: string, settings: object): Promise<string> {
  const body = { name, image: testServer, ...settings };
  await askAndFollow({ socketPath, method: 'POST', path: workloadsPath, body });
  const details = await ask({ socketPath, method: 'GET', path: `${workloadsPath}/${name}` });
  return (JSON.parse(details) as { proxy_url: string }).proxy_url;
}

/** What a client sends at first. A notification has no ID. */
const greeting = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
};
const conversation = [
  { id: 1, method: 'initialize', params: greeting },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list', params: {} },
  { id: 3, method: 'tools/call', params: { name: 'echo', arguments: { message: 'hello' } } },
].map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }));

/** Begins a session, lists the tools, and calls one. Returns how long that took. */
async function callAsClient(url: string): Promise<number> {
  const startedMs = performance.now();
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  let text = '';
  for (const body of conversation) {
    const response = await fetch(url, { method: 'POST', headers, body });
    headers['mcp-session-id'] ??= response.headers.get('mcp-session-id') ?? '';
    text = await response.text();
  }
  if (!text.includes('hello')) throw new Error(`the tool did not answer: ${text}`);
  return performance.now() - startedMs;
}

type Server = ChildProcessByStdio<Writable, Readable, null>;

async function callServer(env: NodeJS.ProcessEnv): Promise<number> {
  const startedMs = performance.now();
  const server = await talkToServer(env);
  const ms = performance.now() - startedMs;
  await endServer(server);
  return ms;
}

/** Starts the same program that the sandbox runs, and has the same conversation with it. */
async function talkToServer(env: NodeJS.ProcessEnv): Promise<Server> {
  const server = spawn('node', [serverScript, 'echo'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  for (const message of conversation) {
    server.stdin.write(`${message}\n`);
    if (message.includes('"id"')) await once(server.stdout, 'data');
  }
  return server;
}

async function endServer(server: Server): Promise<void> {
  server.stdin.end();
  await once(server, 'exit');
}

/** The memory of the daemon and all its processes, compared with that of the servers alone. */
async function memoryWithClients(): Promise<Figure> {
  await using user = await makeUser();
  const socketPath = await install(user);
  const alone = await Promise.all(Array.from({ length: workloads }, () => talkToServer(user.env)));
  const reference = megabytesOf(alone.flatMap(({ pid }) => (pid === undefined ? [] : [pid])));
  await Promise.all(alone.map(endServer));
  for (let at = 0; at < workloads; at++)
    await callAsClient(await createWorkload(socketPath, `bench-${at}`, {}));
  const pid = await user.daemonPid();
  const ours = await settled(() => megabytesOf(familyOf(pid)));
  return {
    what: `memory of everything, ${workloads} workloads with a client each`,
    unit: 'MB',
    ours,
    reference,
    comparison: 'times',
  };
}

/** Waits until a figure has not fallen any more for a while, because processes without a use end after some seconds. */
async function settled(measure: () => number): Promise<number> {
  let lowest = measure();
  for (let quietSeconds = 0; quietSeconds < 15; quietSeconds++) {
    await delay(1000);
    const now = measure();
    if (now < lowest * 0.99) quietSeconds = 0;
    lowest = Math.min(lowest, now);
  }
  return lowest;
}

/** The proportional share of the processes, so that a page that several of them use counts once (proc(5), `smaps_rollup`). */
function megabytesOf(pids: readonly number[]): number {
  const kibibytes = pids.map((pid) => Number(/^Pss:\s+(\d+) kB$/m.exec(shareOf(pid))?.[1] ?? 0));
  return (kibibytes.reduce((sum, each) => sum + each, 0) * 1024) / megabyte;
}

function shareOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  } catch {
    return ''; // it has just ended
  }
}
