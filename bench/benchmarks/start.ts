import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeUser, testServer } from '../../e2e/testing/thv.ts';
import type { User } from '../../e2e/testing/thv.ts';
import {
  TEST_IMAGE,
  buildTestImage,
  startDockerEngine,
} from '../../packages/runtime/src/testing/docker-engine.ts';
import { buildCli } from '../../scripts/build.ts';
import { isInstalled } from '@toolhive/testing/machine';
import { ask, askAndFollow, workloadsPath } from '../ask.ts';
import type { Figure } from '../measurement.ts';
import { inTurns, median } from '../statistics.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const rounds = 15;
const clients = 32;
/** More than the daemon waits after a start before it prepares a namespace, and needs for that. */
const preparationMs = 1000;
const serverScript = new URL('../../packages/test-servers/main.js', import.meta.url).pathname;

/** The time from a request until the server runs, compared with a manual start of the same server. */
export async function start(context: BenchmarkContext): Promise<Figure[]> {
  return [...(await startInSandbox(context)), ...(await startInContainer(context))];
}

async function startInSandbox({ signal, note }: BenchmarkContext): Promise<Figure[]> {
  if (!isInstalled('bwrap')) {
    note('!!! start is SKIPPED: bwrap is not installed (Debian: bubblewrap)');
    return [];
  }
  await buildCli();
  await using user = await makeUser();
  await user.mustThv('run', testServer, '--name', 'installs-it');
  await user.mustThv('rm', 'installs-it');
  const image = testServer;
  const contenders = {
    workload: async () => {
      await delay(preparationMs);
      return startWorkload(user, { image });
    },
    // Right after another start, so that no namespace is ready, and with a port that nothing listens on yet.
    unprepared: () =>
      startWorkload(user, {
        image,
        permission_profile: { network: { outbound: { allow_port: [9999] } } },
      }),
    withoutNetwork: () => startWorkload(user, { image, permission_profile: {} }),
    // The same program that the sandbox runs: the first `node` on the user's PATH.
    server: () => startServer('node', [serverScript, 'echo'], user.env),
  };
  await inTurns(2, contenders, signal);
  const times = await inTurns(rounds, contenders, signal);
  const [first, server] = [times.workload.map(({ listedMs }) => listedMs), times.server];
  const runningMs = (of: 'workload' | 'withoutNetwork' | 'unprepared'): number =>
    median(times[of].map(({ runningMs: ms }) => ms));
  return [
    {
      what: 'POST /workloads until it runs in the process sandbox',
      unit: 'ms',
      ours: runningMs('workload'),
      reference: median(server.map(({ initializedMs }) => initializedMs)),
      comparison: 'added',
      budget: 150,
    },
    {
      what: 'the same until the first tools/list is answered',
      unit: 'ms',
      ours: median(first),
      reference: median(server.map(({ listedMs }) => listedMs)),
      comparison: 'added',
      budget: 150,
    },
    {
      what: 'network rules, with a namespace that is ready, beside no network',
      unit: 'ms',
      ours: runningMs('workload'),
      reference: runningMs('withoutNetwork'),
      comparison: 'added',
      budget: 10,
    },
    {
      what: 'the same without one, and for another port',
      unit: 'ms',
      ours: runningMs('unprepared'),
      reference: runningMs('withoutNetwork'),
      comparison: 'added',
      budget: 60,
    },
    {
      what: `the slowest first tools/list of ${clients} clients at once, beside a manual start`,
      unit: 'ms',
      ours: median(times.workload.map(({ crowdMs }) => crowdMs)),
      reference: median(server.map(({ listedMs }) => listedMs)),
      comparison: 'times',
      budget: 3,
    },
  ];
}

/** The same in a Docker Engine, beside `docker run`. */
async function startInContainer({ signal, note }: BenchmarkContext): Promise<Figure[]> {
  if (!isInstalled('dockerd') || !isInstalled('docker') || process.getuid?.() !== 0) {
    note('!!! start in containers is SKIPPED: a Docker Engine needs root and docker (Debian: docker.io)');
    return [];
  }
  await using engine = await startDockerEngine();
  await buildTestImage(engine);
  await using user = await makeUser({
    env: { TOOLHIVE_RUNTIME: 'docker', TOOLHIVE_DOCKER_SOCKET: engine.socket },
  });
  await user.mustThv('list'); // starts the daemon
  const docker = ['run', '--rm', '--interactive', '--network', 'none', TEST_IMAGE, 'echo'];
  const request = { image: TEST_IMAGE, cmd_arguments: ['echo'] };
  const contenders = {
    workload: () => startWorkload(user, request),
    withoutNetwork: () => startWorkload(user, { ...request, permission_profile: {} }),
    server: () => startServer('docker', docker, { ...process.env, DOCKER_HOST: `unix://${engine.socket}` }),
  };
  await inTurns(2, contenders, signal);
  const times = await inTurns(rounds, contenders, signal);
  const runningMs = (of: 'workload' | 'withoutNetwork'): number =>
    median(times[of].map(({ runningMs: ms }) => ms));
  const reference = median(times.server.map(({ listedMs }) => listedMs));
  return [
    {
      what: 'POST /workloads until it runs in Docker, beside docker run',
      unit: 'ms',
      ours: runningMs('workload'),
      reference: median(times.server.map(({ initializedMs }) => initializedMs)),
      comparison: 'added',
      budget: 150,
    },
    {
      what: 'the same until the first tools/list is answered',
      unit: 'ms',
      ours: median(times.workload.map(({ listedMs }) => listedMs)),
      reference,
      comparison: 'added',
      budget: 150,
    },
    {
      what: 'network rules in Docker, beside no network',
      unit: 'ms',
      ours: runningMs('workload'),
      reference: runningMs('withoutNetwork'),
      comparison: 'added',
    },
    {
      what: `the slowest first tools/list of ${clients} clients at once in Docker, beside docker run`,
      unit: 'ms',
      ours: median(times.workload.map(({ crowdMs }) => crowdMs)),
      reference,
      comparison: 'times',
      budget: 3,
    },
  ];
}

/** Without a profile, a server has the default network: public hosts, through the egress gateway. */
async function startWorkload({ home }: User, request: object) {
  const socketPath = join(home, '.local/state/toolhive/hive.sock');
  const startedMs = performance.now();
  await askAndFollow({
    socketPath,
    method: 'POST',
    path: workloadsPath,
    body: { name: 'bench', ...request },
  });
  const runningMs = performance.now() - startedMs;
  const details = await ask({ socketPath, method: 'GET', path: `${workloadsPath}/bench` });
  const { proxy_url: url } = JSON.parse(details) as { proxy_url: string };
  await listTools(url);
  const listedMs = performance.now() - startedMs;
  const crowdMs = Math.max(...(await Promise.all(Array.from({ length: clients }, () => listTools(url)))));
  await askAndFollow({ socketPath, method: 'DELETE', path: `${workloadsPath}/bench` });
  return { runningMs, listedMs, crowdMs };
}

/** Begins a session and lists the tools. Returns how long that took. */
async function listTools(url: string): Promise<number> {
  const startedMs = performance.now();
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const begun = await fetch(url, { method: 'POST', headers, body: request(1, 'initialize', greeting) });
  await begun.text();
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
  const body = request(2, 'tools/list', {});
  const listed = await fetch(url, { method: 'POST', headers: { ...headers, ...session }, body });
  const text = await listed.text();
  if (!text.includes('"tools"')) throw new Error(`no tools: ${text}`);
  return performance.now() - startedMs;
}

const greeting = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
};

function request(id: number, method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params });
}

async function startServer(program: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const startedMs = performance.now();
  const server = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  server.stdin.write(`${request(1, 'initialize', greeting)}\n`);
  await once(server.stdout, 'data');
  const initializedMs = performance.now() - startedMs;
  server.stdin.write(`${request(2, 'tools/list', {})}\n`);
  await once(server.stdout, 'data');
  const listedMs = performance.now() - startedMs;
  server.stdin.end();
  await once(server, 'exit');
  return { initializedMs, listedMs };
}
