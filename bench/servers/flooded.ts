// A daemon's part of two workloads: one that is measured, and one whose server floods it: `node flooded.ts KIND`.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Logs } from '@toolhive/state/logs';
import { WorkloadProxy } from '@toolhive/proxy/proxy';
import type { Instance } from '@toolhive/runtime/runtime';
import { serveParent } from '../child.ts';
import { openProxy } from './open-proxy.ts';
import { freePort } from './port.ts';
import { startStdio } from './stdio-instance.ts';

export type Flood =
  'none' | 'invalid lines' | 'notifications' | 'large messages' | 'an endless line' | 'standard error';

/** The delay before a stopped server starts again, as in the supervisor. */
const backoffMs = 1_000;

const home = await mkdtemp(join(tmpdir(), 'thv-bench-'));
const log = await new Logs(home).open('flood', 'server');

function start(script: URL, ...args: string[]): Instance {
  const { instance, server } = startStdio(script, ...args);
  server.stderr.on('data', (chunk: Buffer) => log.write(chunk));
  return instance;
}

const { proxy, port } = await openProxy('stdio');
const never = new AbortController().signal;
const other = (): Promise<never> => Promise.reject(new Error('all clients share one'));
await proxy.connect(start(new URL('./stdio-echo.ts', import.meta.url)), other, never);

let excess = Promise.withResolvers<string>();
const flooded = await WorkloadProxy.open({
  workload: 'flood',
  host: '127.0.0.1',
  port: await freePort(),
  transport: 'stdio',
  sessions: 'shared',
  version: 'v0.0.0',
  onInvalidOutput: (line) => log.write(`[stdout] ${line.slice(0, 2000)}\n`),
  onExcess: (reason) => excess.resolve(reason),
  onFault(error) {
    throw error;
  },
});

async function keepFlooding(kind: string): Promise<never> {
  for (;;) {
    excess = Promise.withResolvers<string>();
    const server = start(new URL('./flood-server.ts', import.meta.url), kind);
    await flooded.connect(server, other, never).catch(() => {}); // stopped before its first answer
    await Promise.race([excess.promise, server.exited]);
    await server.stop(0);
    await delay(backoffMs);
  }
}

void keepFlooding(process.argv[2] ?? 'none');
serveParent({ port }, () => rm(home, { recursive: true, force: true }));
