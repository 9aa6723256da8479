// Our proxy in front of a stdio server, which is a separate process. Arguments limit the tools.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Instance } from '@toolhive/runtime/runtime';
import { serveParent } from '../child.ts';
import { openProxy } from './open-proxy.ts';

const start = async (): Promise<Instance> => {
  const server = spawn(process.execPath, [new URL('./stdio-echo.ts', import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  return {
    id: String(server.pid),
    stdio: { input: server.stdin, output: server.stdout },
    exited: once(server, 'exit').then(() => ({ code: 0, signal: null })),
    stop: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
};
const { proxy, port } = await openProxy('stdio', { filter: process.argv.slice(2) });
await proxy.connect(await start(), start, new AbortController().signal);
serveParent({ port }); // the servers end when their standard input does
