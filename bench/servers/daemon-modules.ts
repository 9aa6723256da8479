import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApi } from '@toolhive/api/api';
import { listenOnSocket } from '@toolhive/api/listen';
import { openCore } from '@toolhive/core/core';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import { pino } from 'pino';
import { serveParent } from '../child.ts';
import { image, memoryServers } from './tiny-servers.ts';
import { openShellRuntime } from './shell-runtime.ts';

/** Starts the daemon and serves the parent process. */
export async function serveDaemon(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'thv-bench-'));
  await using opened = new AsyncDisposableStack();
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const core = opened.use(
    await openCore({
      env: { PATH: process.env['PATH'], HOME: home },
      version: 'v0.0.0',
      log: pino({ level: 'silent' }),
      runtimes: () => [process.argv[2] === 'memory' ? openMemoryRuntime(memoryServers) : openShellRuntime()],
    }),
  );
  opened.use(
    await listenOnSocket(
      createApi(core, {
        listener: { daemon: { pid: process.pid, background: true }, stop: () => {}, openUi: async () => '' },
      }),
      core.paths.socket,
    ),
  );
  const everything = opened.move();
  serveParent({ socketPath: core.paths.socket, image }, () => everything.disposeAsync());
}
