import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import type { Instance } from '@toolhive/runtime/runtime';

/** A server that speaks stdio as a child of this process, without a sandbox. */
export function startStdio(
  script: URL,
  ...args: string[]
): { instance: Instance; server: ChildProcessByStdio<Writable, Readable, Readable> } {
  const server = spawn(process.execPath, [script.pathname, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = once(server, 'exit').then(() => ({ code: 0, signal: null }));
  const stop = async (): Promise<void> => {
    server.kill('SIGKILL');
    await exited;
  };
  const instance = {
    id: String(server.pid),
    stdio: { input: server.stdin, output: server.stdout },
    exited,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return { instance, server };
}
