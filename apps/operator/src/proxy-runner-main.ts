import { ThvError, messageOf } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import { isConfigurationMistake } from '@toolhive/core/check-single-workload';
import { drainOf, runProxy } from './runner/run-proxy.ts';

/** How long the proxy may take to end after the last call. */
const endingMs = 9_000;

const ended = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (ended.signal.aborted) process.exit(1); // the second signal ends open calls
    ended.abort();
    // A connection that cannot be closed must not delay the end.
    setTimeout(() => process.exit(1), drainOf(process.argv).maxMs + endingMs).unref();
  });
}
try {
  await runProxy(process.argv.slice(2), process.env, ended.signal);
} catch (error) {
  const hint = error instanceof ThvError && error.hint !== undefined ? `; ${error.hint}` : '';
  process.stderr.write(`${printable(`${messageOf(error)}${hint}`)}\n`);
  process.exitCode = isConfigurationMistake(error) ? 2 : 1;
}
