import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Instance } from '@toolhive/runtime/runtime';
import type { ProtocolGeneration } from '../protocol/protocol.ts';

const main = fileURLToPath(new URL('../../../test-servers/src/conformance/main.ts', import.meta.url));

/** Hundreds of these processes start, and each one takes a third less time with the compiled code of an earlier one. */
const cached = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../../../../.cache/compiled', import.meta.url)),
};

/** What a test server supports: one generation, both, or the tasks of 2025-11-25. */
type Supported = ProtocolGeneration | 'dual' | 'tasks';

/** A server with every feature of its generation, in a process of its own that speaks stdio. */
export function startStdioServer(generation: Supported): Instance {
  const env = { ...process.env, ...cached };
  const child = spawn(process.execPath, [main, generation, 'stdio'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env,
  });
  return { ...instanceOf(child), stdio: { input: child.stdin, output: child.stdout } };
}

/** The same over streamable HTTP. */
export function startHttpServer(generation: Supported, port: number): Instance {
  const env = { ...process.env, ...cached, MCP_PORT: String(port) };
  const child = spawn(process.execPath, [main, generation, 'http'], { stdio: 'inherit', env });
  return { ...instanceOf(child), address: { kind: 'tcp', host: '127.0.0.1', port } };
}

function instanceOf(child: ChildProcess): Instance {
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return {
    id: String(child.pid),
    exited,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
