// Runs command lines of `thv`, one after the other, as `command-runner.ts` asks for them. Each one finds this process as a
// new process: its arguments, its environment, and nothing of the commands before it.
import { createRequire } from 'node:module';
import type { CommandEnd, CommandStart } from './command-runner.ts';
import { thvBundle, thvScript } from './places.ts';

const { main } = createRequire(import.meta.url)(thvBundle) as {
  main: (words: readonly string[]) => Promise<void>;
};

process.on('message', (start: CommandStart) => {
  run(start).then(report, (error: unknown) => {
    // Node.js ends a process like this, and prints the error.
    queueMicrotask(() => {
      throw error;
    });
  });
});
process.once('disconnect', () => process.exit());

async function run({ words, env }: CommandStart): Promise<void> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv = [process.execPath, thvScript, ...words];
  process.exitCode = undefined;
  const before = process.getActiveResourcesInfo().length;
  await main(words);
  await untilEnd(before);
}

function report(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal);
  process.send?.({ code: Number(process.exitCode ?? 0) } satisfies CommandEnd);
}

/** Waits until a separate process would end, because nothing keeps it. */
async function untilEnd(before: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (process.getActiveResourcesInfo().length <= before) resolve();
    else setTimeout(look, 2).unref();
  };
  setImmediate(look);
  return promise;
}
