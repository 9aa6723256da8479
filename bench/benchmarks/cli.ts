import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeUser, thvStart } from '../../e2e/testing/thv.ts';
import { buildBinary } from '../../scripts/build-binary.ts';
import { buildCli } from '../../scripts/build.ts';
import type { Figure } from '../measurement.ts';
import { inTurns, median } from '../statistics.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const rounds = 30;
/** The first run, which reads the programs from the disk, doesn't count. */
const warmUpRounds = 2;

/** The duration of commands with a running daemon, compared with Node.js without a program. */
export async function cli({ signal, note }: BenchmarkContext): Promise<Figure[]> {
  note('building thv');
  await buildCli(); // the content of the npm package
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-bench-'));
  const binary = join(folder.path, 'thv');
  await buildBinary(binary);
  await using user = await makeUser();
  await user.mustThv('list'); // starts the daemon
  const node = (...args: string[]) => run([process.execPath, ...args], user.env);
  const contenders = {
    nothing: () => node('-e', '0'),
    version: () => node(...thvStart, 'version'),
    list: () => node(...thvStart, 'list'),
    parsed: () => node(...thvStart, 'list', '--all'),
    binaryVersion: () => run([binary, 'version'], user.env),
    binaryList: () => run([binary, 'list'], user.env),
  };
  await inTurns(warmUpRounds, contenders, signal);
  const runs = await inTurns(rounds, contenders, signal);
  const compare = (name: keyof typeof contenders, what: string, budget?: number): Figure[] => [
    {
      what,
      unit: 'ms',
      ours: median(runs[name].map(({ wallMs }) => wallMs)),
      reference: median(runs.nothing.map(({ wallMs }) => wallMs)),
      comparison: 'times',
      ...(budget === undefined ? {} : { budget }),
    },
    ...processorTime(`${what}, processor time`, runs[name], runs.nothing),
  ];
  return [
    ...compare('version', 'thv version', 1.2),
    ...compare('list', 'thv list', 1.5),
    ...compare('parsed', 'thv list --all'),
    ...compare('binaryVersion', 'thv version, single executable', 1.15),
    ...compare('binaryList', 'thv list, single executable', 1.5),
  ];
}

interface Run {
  wallMs: number;
  cpuMs: number | undefined;
}

async function run([program, ...args]: readonly [string, ...string[]], env: NodeJS.ProcessEnv): Promise<Run> {
  const cpuBeforeMs = cpuOfChildrenMs();
  const startedMs = performance.now();
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  const wallMs = performance.now() - startedMs;
  const cpuAfterMs = cpuOfChildrenMs();
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}`);
  const isKnown = cpuBeforeMs !== undefined && cpuAfterMs !== undefined;
  return { wallMs, cpuMs: isKnown ? cpuAfterMs - cpuBeforeMs : undefined };
}

/** The kernel counts in steps that are longer than the differences, so only the mean of many runs says something, and not enough for a budget. */
function processorTime(what: string, ours: readonly Run[], reference: readonly Run[]): Figure[] {
  const [oursMs, referenceMs] = [meanCpuMs(ours), meanCpuMs(reference)];
  if (oursMs === undefined || referenceMs === undefined) return [];
  return [{ what, unit: 'ms', ours: oursMs, reference: referenceMs, comparison: 'times' }];
}

function meanCpuMs(runs: readonly Run[]): number | undefined {
  const known = runs.flatMap(({ cpuMs }) => cpuMs ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, ms) => sum + ms, 0) / known.length;
}

/** The processor time of ended child processes, on Linux (proc(5), cutime and cstime). */
function cpuOfChildrenMs(): number | undefined {
  if (process.platform !== 'linux') return undefined;
  // The program's name is in parentheses and can contain spaces.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ticks = Number(fields[13]) + Number(fields[14]);
  return ticks * 10; // a tick is a hundredth of a second on every Linux
}
