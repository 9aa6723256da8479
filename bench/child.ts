import { fork } from 'node:child_process';
import { once } from 'node:events';

/** The resources that a benchmark process has used. */
interface Usage {
  /** Processor time, in user and system mode together. */
  cpuMs: number;
  /** Resident memory, after a garbage collection if the process exposes it. */
  residentBytes: number;
}

/** A server in a separate process, which ends with this process. */
export interface Child<Ready> extends AsyncDisposable {
  /** The server's first message. */
  ready: Ready;
  usage(): Promise<Usage>;
}

/**
 * Starts a script and waits for its first message. The script gets only the PATH from this environment, because other
 * settings, such as additional certificate authorities, would change the measurement. It runs in a session of its own, like the
 * processes of the daemon, because Linux divides the processor among sessions.
 */
export async function startChild<Ready>(
  script: URL,
  args: readonly string[] = [],
  execArgv: readonly string[] = [],
): Promise<Child<Ready>> {
  const child = fork(script, [...args], {
    execArgv: [...execArgv],
    env: { PATH: process.env['PATH'] },
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const failed = exited.then(() => {
    throw new Error(`${script.pathname} ended`);
  });
  failed.catch(() => {}); // reported by the next wait for a message
  const message = (): Promise<unknown[]> => Promise.race([once(child, 'message'), failed]);
  const [ready] = (await message()) as [Ready]; // the caller knows the script
  return {
    ready,
    async usage() {
      child.send('usage');
      const [usage] = (await message()) as [Usage]; // see `serveParent`
      return usage;
    },
    async [Symbol.asyncDispose]() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/** The child's side: reports that this process is ready, answers questions about its resources, and ends with its parent. */
export function serveParent(ready: object, close: () => Promise<void> = async () => {}): void {
  process.on('message', () => {
    globalThis.gc?.();
    const { user, system } = process.cpuUsage();
    process.send?.({
      cpuMs: (user + system) / 1000,
      residentBytes: process.memoryUsage.rss(),
    } satisfies Usage);
  });
  process.once('disconnect', () => {
    void close().finally(() => process.exit());
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {}); // the process ends with its parent
  process.send?.(ready);
}
