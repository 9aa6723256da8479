import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Exit, Instance, Launch, Runtime } from '@toolhive/runtime/runtime';
import { identity, unknown } from './answer.ts';

/** Answers the two lines of the handshake with their IDs. Ends with its input. */
const script = `answer() {
read -r line
id=\${line#*'"id":'}
printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "\${id%%,*}" "$1"
}
answer '"error":${JSON.stringify(unknown)}'
answer '"result":${JSON.stringify(identity)}'
while read -r line; do :; done`;

/**
 * Runs every server as a shell of a few lines. Each is a real process behind real pipes, as servers are, so that
 * the daemon has all of a workload's costs except the server's memory.
 */
export function openShellRuntime(): Runtime {
  return {
    name: 'memory',
    capabilities: {
      runs: 'images',
      runsBundles: false,
      publishesPorts: false,
      recordsIsolation: false,
      mountsByPath: false,
    },
    homes: { exists: async () => false, measure: async () => undefined, remove: async () => {} },
    check: async () => ({
      runtime: 'memory',
      available: true,
      detail: 'a shell for each server',
      limits: [],
    }),
    prepare: async (source) => source,
    start: async (launch) => startShell(launch),
    sweep: async () => {},
  };
}

function startShell({ log }: Launch): Instance {
  const shell = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'pipe', 'pipe'], env: {} });
  shell.stderr.on('data', log);
  const exited = once(shell, 'exit').then(([code, signal]: (string | number | null)[]): Exit => {
    return { code: code as number | null, signal: signal as string | null }; // as the event is documented
  });
  const stop = async (): Promise<void> => {
    shell.stdin.end();
    await exited;
  };
  return {
    id: String(shell.pid),
    stdio: { input: shell.stdin, output: shell.stdout },
    exited,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
