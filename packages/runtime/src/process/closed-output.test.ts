// @suite system
import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { childrenOf } from '../proc.ts';
import { waitFor } from '../testing/conformance.ts';
import { hasClosedOutput } from './closed-output.ts';

/** Starts processes as a sandbox does: one that keeps the output, and the server as its first child. */
function startSandbox(server: string) {
  const init = spawn('sh', ['-c', `${server} & wait`], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  const pid = init.pid ?? 0;
  return {
    init: pid,
    get pid(): number {
      return childrenOf(pid)[0] ?? 0;
    },
    [Symbol.dispose]: () => process.kill(-pid, 'SIGKILL'),
  };
}

test.each([
  ['sleep 1000 >&-', true],
  ['sleep 1000 >/dev/null', true],
  ['sleep 1000', false],
  ['sleep 1000 3>&1 >&-', false],
  ["sh -c 'sleep 1000 & exec sleep 1001 >&-'", false],
  ["sh -c 'exec >&-; sleep 1000 & exec sleep 1001'", true],
])('a server has closed its output if none of its processes has it: %s', async (server, expected) => {
  using sandbox = startSandbox(server);

  const commandOf = (pid: number): Promise<string> =>
    readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  await waitFor(async () => (await commandOf(sandbox.pid)).startsWith('sleep'));

  expect(hasClosedOutput(sandbox)).toBe(expected);
});
