import { ThvError, messageOf } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import { isConfigurationMistake } from '@toolhive/core/check-single-workload';
import { runProxy } from './runner/run-proxy.ts';

/** How long the proxy may take to end. A cluster waits 30 s by default before it kills a container. */
const endingMs = 9_000;

const ended = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    ended.abort();
    setTimeout(() => process.exit(1), endingMs).unref(); // a connection that cannot be closed must not delay the end
  });
}
try {
  await runProxy(process.argv.slice(2), process.env, ended.signal);
} catch (error) {
  const hint = error instanceof ThvError && error.hint !== undefined ? `; ${error.hint}` : '';
  process.stderr.write(`${printable(`${messageOf(error)}${hint}`)}\n`);
  process.exitCode = isConfigurationMistake(error) ? 2 : 1;
}
