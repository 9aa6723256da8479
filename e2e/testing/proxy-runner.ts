import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { testPort } from '@toolhive/testing/port';
import { until } from './thv.ts';

/** The proxy runner as in its image. */
export const program = new URL('../../apps/operator/dist/proxy-runner.js', import.meta.url).pathname;
/** The test servers as a program. */
export const serverProgram = new URL('../../packages/test-servers/main.js', import.meta.url).pathname;

/** A proxy runner as a process. Disposing kills the process. */
export interface Runner extends AsyncDisposable {
  url: string;
  child: ChildProcess;
  /** The lines on standard output so far. */
  lines: () => Record<string, unknown>[];
  /** The text on standard output so far. */
  output: () => string;
  /** The text on standard error so far. */
  errors: () => string;
  health: (host?: string, path?: string) => Promise<{ status: number | undefined; body: string }>;
}

/** The fields that every run config has. */
export const minimal = {
  schema_version: 'v0.1.0',
  name: 'echo',
  base_name: 'echo',
  container_name: 'echo',
  image: 'example/echo:1',
  transport: 'streamable-http',
  host: '0.0.0.0',
};

/** Starts the proxy runner as a pod does, with another server host (`null` for that of a pod). Selects a free port for a run config without one. */
export async function startRunner(
  runConfig: { port?: number; [field: string]: unknown },
  env: NodeJS.ProcessEnv = {},
  flags: string[] = [],
  { host = '127.0.0.1' }: { host?: string | null } = {},
): Promise<Runner> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'thv-runner-'));
  const port = runConfig.port ?? (await testPort());
  const file = join(folder.path, 'runconfig.json');
  await writeFile(file, JSON.stringify({ ...minimal, port, ...runConfig }));
  const reached = host === null ? [] : ['--server-host', host];
  const words = [program, 'run', '--run-config', file, ...reached, ...flags];
  const child = spawn(process.execPath, words, {
    cwd: folder.path,
    env: { HOME: folder.path, POD_NAMESPACE: 'tools', TOOLHIVE_RUNTIME: 'kubernetes', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let written = '';
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdout?.on('data', (chunk: Buffer) => (written += chunk.toString()));
  const closed = once(child, 'close');
  const lines = (): Record<string, unknown>[] =>
    written
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  await until(() => lines().some(({ msg }) => msg === 'proxy listening') || child.exitCode !== null);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    child,
    lines,
    output: () => written,
    errors: () => errors,
    async health(host = `127.0.0.1:${port}`, path = '/health') {
      const sent = request({ host: '127.0.0.1', port, path, headers: { host } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return { status: response.statusCode, body: await text(response) };
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await closed;
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Starts a server that speaks streamable HTTP, or the older transport. */
export function startServer(port: number, transport: 'http' | 'sse' = 'http'): AsyncDisposable {
  const child = spawn(process.execPath, [serverProgram, transport], {
    env: { MCP_PORT: String(port) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const closed = once(child, 'close');
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}
