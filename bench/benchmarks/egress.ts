import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { canMakeNetworks } from '../../packages/runtime/src/testing/stand-in-hosts.ts';
import { openWebHosts } from '../../packages/runtime/src/testing/web-hosts.ts';
import { type Child, startChild } from '../child.ts';
import { compareLatency } from '../contest.ts';
import type { Figure } from '../measurement.ts';
import type { Way } from '../servers/egress.ts';
import { inTurns, median } from '../statistics.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const run = promisify(execFile);
const rounds = 7;
const streamMebibytes = 1024;
const many = 1_000;
const kilobyte = 1_000;

type WayChild = Child<Way>;
const script = new URL('../servers/egress.ts', import.meta.url);
const client = new URL('../servers/egress-client.ts', import.meta.url).pathname;

/** The cost of the egress gateway, compared with a pipe of Node.js streams. */
export async function egress({ signal, note }: BenchmarkContext): Promise<Figure[]> {
  if (!canMakeNetworks) {
    note('!!! egress is SKIPPED: hosts to connect to need root and iproute2');
    return [];
  }
  await using hosts = await openWebHosts(1);
  const [host = ''] = hosts.far;
  return [
    ...(await traffic(host, signal)),
    ...(await others(host, signal)),
    ...(await manyGateways(host, signal)),
  ];
}

async function traffic(host: string, signal: AbortSignal): Promise<Figure[]> {
  await using gateway: WayChild = await startChild(script, ['gateway', host]);
  await using pipe: WayChild = await startChild(script, ['pipe', host]);
  const compare = async (what: string, kind: string, count: number): Promise<Figure> => {
    const times = await inTurns(
      rounds,
      { gateway: () => ask(gateway.ready, kind, count), pipe: () => ask(pipe.ready, kind, count) },
      signal,
    );
    return {
      what,
      unit: 'ms',
      ours: median(times.gateway),
      reference: median(times.pipe),
      comparison: 'share by time',
      budget: 0.8,
    };
  };
  return [
    await compare(`one stream of ${streamMebibytes} MiB, beside a pipe`, 'stream', streamMebibytes),
    await compare('requests to an allowed host, 1 at a time, beside a pipe', 'requests', 1),
    await compare('requests to an allowed host, 32 at a time, beside a pipe', 'requests', 32),
  ];
}

/** Runs the client in its network namespace. Returns the duration in milliseconds. */
async function ask({ namespaces, url }: Way, kind: string, count: number): Promise<number> {
  const [namespace] = namespaces;
  const command = [process.execPath, client, url, kind, String(count)];
  const [program = '', ...args] =
    namespace === undefined ? command : ['nsenter', `--net=${namespace}`, '--', ...command];
  return Number((await run(program, args)).stdout);
}

/**
 * The calls of another workload while a server downloads as fast as it can: through a gateway in the same process, and
 * through a pipe in a separate process, which takes as much of the machine.
 */
async function others(host: string, signal: AbortSignal): Promise<Figure[]> {
  const p99 = async (...args: string[]): Promise<number> => {
    const server = await startChild<{ port: number }>(
      new URL('../servers/downloading.ts', import.meta.url),
      args,
    );
    await using _server = server;
    return (await compareLatency({ measured: server }, signal)).measured.p99Ms;
  };
  await using pipe: WayChild = await startChild(script, ['pipe', host]);
  const ours = await p99('gateway', host);
  const separate = await p99('url', pipe.ready.url);
  const quiet = await p99('nothing');
  const what = "p99 of another workload's calls, 1 connection, during a download at full speed";
  return [
    {
      what: `${what}, beside none`,
      unit: 'ms',
      ours,
      reference: quiet,
      comparison: 'added',
      budget: 5,
    },
    {
      what: `${what}, beside one through a pipe in a separate process`,
      unit: 'ms',
      ours,
      reference: separate,
      comparison: 'added',
    },
  ];
}

/** Many servers with rules at once: whether each reaches its host, and the memory for each. */
async function manyGateways(host: string, signal: AbortSignal): Promise<Figure[]> {
  const idle = await residentBytes(['gateway', host, '1']);
  const before = await kernelBytes();
  await using gateways: WayChild = await startChild(script, ['gateway', host, String(many)]);
  const grown = (await residentOf(gateways)) - idle.all;
  const kernel = (await kernelBytes()) - before;
  let reached = 0;
  for (const namespace of gateways.ready.namespaces) {
    signal.throwIfAborted();
    const request = String.raw`exec 3<>/dev/tcp/${host}/80; printf 'GET / HTTP/1.0\r\nHost: x\r\n\r\n' >&3; read -r _ status _ <&3; echo "$status"`;
    const { stdout } = await run('nsenter', [`--net=${namespace}`, '--', 'bash', '-c', request]);
    if (stdout.trim() === '200') reached += 1;
  }
  if (reached !== many) throw new Error(`only ${reached} of ${many} servers reached their host`);
  return [
    {
      what: 'memory of the gateway process with one server with rules',
      unit: 'kB',
      ours: idle.gatewayProcess / kilobyte,
      comparison: 'itself',
    },
    {
      what: `memory of the daemon and its gateway process for each of ${many} servers with rules`,
      unit: 'kB',
      ours: grown / many / kilobyte,
      comparison: 'itself',
    },
    {
      what: 'the same with the memory of the kernel for it',
      unit: 'kB',
      ours: (grown + kernel) / many / kilobyte,
      comparison: 'itself',
      budget: 500,
    },
  ];
}

async function residentBytes(args: readonly string[]): Promise<{ all: number; gatewayProcess: number }> {
  await using child: WayChild = await startChild(script, args);
  return { all: await residentOf(child), gatewayProcess: await proportionalBytes(child.ready.gatewayPid) };
}

/** The memory of a daemon and of the process of its gateways. */
async function residentOf(child: WayChild): Promise<number> {
  return (await child.usage()).residentBytes + (await proportionalBytes(child.ready.gatewayPid));
}

/** A process's share of its memory, of which a part belongs to the program that the daemon runs, too. */
async function proportionalBytes(pid: number | undefined): Promise<number> {
  if (pid === undefined) return 0;
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss: +(\d+) kB$/m.exec(rollup)?.[1] ?? 0) * 1024;
}

/** The kernel's memory, for all programs. */
async function kernelBytes(): Promise<number> {
  const { stdout } = await run('cat', ['/proc/meminfo']);
  const fields = ['Slab', 'Percpu', 'PageTables', 'KernelStack'];
  const kibibytes = fields.map((field) =>
    Number(new RegExp(`^${field}: +(\\d+)`, 'm').exec(stdout)?.[1] ?? 0),
  );
  return kibibytes.reduce((sum, each) => sum + each, 0) * 1024;
}
