import { fork } from 'node:child_process';
import { once } from 'node:events';

/** What a process of a benchmark has used so far. */
interface Usage {
  /** Processor time, in user and system mode together. */
  cpuMs: number;
  /** Resident memory; after a collection, where the process can make one. */
  residentBytes: number;
}

/** A server in a process of its own, which ends with this one. */
export interface Child<Ready> extends AsyncDisposable {
  /** What the server said when it was ready. */
  ready: Ready;
  usage(): Promise<Usage>;
}

/**
 * Starts a script and waits until it says that it is ready. Of this process's environment it gets no more than
 * the PATH: settings such as more certificates to trust would be measured along.
 */
export async function startChild<Ready>(
  script: URL,
  args: readonly string[] = [],
  execArgv: readonly string[] = [],
): Promise<Child<Ready>> {
  const child = fork(script, [...args], {
    execArgv: [...execArgv],
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  const failed = exited.then(() => {
    throw new Error(`${script.pathname} ended`);
  });
  failed.catch(() => {}); // seen by whoever waits for a message then
  const message = (): Promise<unknown[]> => Promise.race([once(child, 'message'), failed]);
  const [ready] = (await message()) as [Ready]; // the script belongs to whoever starts it
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

/** The other end: tells that this process is ready, answers for what it uses, and ends when nobody asks any more. */
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
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {}); // it ends with its parent
  process.send?.(ready);
}
