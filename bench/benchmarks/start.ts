import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { makeUser, testServer } from '../../e2e/testing/thv.ts';
import type { User } from '../../e2e/testing/thv.ts';
import { buildCli } from '../../scripts/build.ts';
import { isInstalled } from '../../scripts/machine.ts';
import { askAndFollow, workloadsPath } from '../ask.ts';
import type { Figure } from '../measurement.ts';
import { inTurns, median } from '../statistics.ts';
import type { BenchmarkContext } from './benchmarks.ts';

const rounds = 15;
const serverScript = new URL('../../packages/test-servers/main.js', import.meta.url).pathname;

/** From the request for a workload until it runs in the sandbox, beside the same server started by hand. */
export async function start({ signal, note }: BenchmarkContext): Promise<Figure[]> {
  if (!isInstalled('bwrap')) {
    note('!!! start is SKIPPED: bwrap is not installed (Debian: bubblewrap)');
    return [];
  }
  await buildCli();
  await using user = await makeUser();
  await user.mustThv('run', testServer, '--name', 'installs-it');
  await user.mustThv('rm', 'installs-it');
  const contenders = { workload: () => startWorkload(user), server: () => startServer(user) };
  await inTurns(2, contenders, signal);
  const times = await inTurns(rounds, contenders, signal);
  return [
    {
      what: 'POST /workloads until it runs in the process sandbox',
      unit: 'ms',
      ours: median(times.workload),
      reference: median(times.server),
      comparison: 'added',
      budget: 150,
    },
  ];
}

async function startWorkload({ home }: User): Promise<number> {
  const socketPath = join(home, '.local/state/toolhive/hive.sock');
  const startedMs = performance.now();
  await askAndFollow({
    socketPath,
    method: 'POST',
    path: workloadsPath,
    body: { name: 'bench', image: `${testServer}@1.0.0` },
  });
  const ms = performance.now() - startedMs;
  await askAndFollow({ socketPath, method: 'DELETE', path: `${workloadsPath}/bench` });
  return ms;
}

/** The same program that the sandbox runs: the first `node` on the user's PATH. */
async function startServer({ env }: User): Promise<number> {
  const startedMs = performance.now();
  const server = spawn('node', [serverScript, 'echo'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  };
  server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  await once(server.stdout, 'data');
  const ms = performance.now() - startedMs;
  server.stdin.end();
  await once(server, 'exit');
  return ms;
}
