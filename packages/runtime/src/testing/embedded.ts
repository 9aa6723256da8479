import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Server, type Socket, connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { EmbeddedProgram } from '../embedded-bundle.ts';
import { embeddedProgram } from '../embedded-program.ts';

/** A running embedded program, which is killed at the end. */
export interface Embedded extends AsyncDisposable {
  child: ChildProcess;
  exited: Promise<[code: number | null, signal: string | null]>;
}

/** Starts a program as an argument of Node.js, in an empty directory and without an environment. */
export function startEmbedded(
  file: EmbeddedProgram,
  args: readonly string[],
  stdio: StdioOptions = ['pipe', 'pipe', 'inherit', 'ipc'],
): Embedded {
  const child = spawn(process.execPath, ['-e', embeddedProgram(file), ...args], { cwd: '/', env: {}, stdio });
  return { child, exited: exitOf(child), [Symbol.asyncDispose]: () => end(child) };
}

/** Starts a program from a file in an otherwise empty directory, by the command `before`. */
export async function startEmbeddedFile(
  file: EmbeddedProgram,
  args: readonly string[],
  {
    stdio = ['pipe', 'pipe', 'inherit', 'ipc'],
    before = [],
  }: { stdio?: StdioOptions; before?: readonly string[] } = {},
): Promise<Embedded> {
  const folder = await mkdtemp(join(tmpdir(), 'thv-embedded-'));
  const path = join(folder, 'program.cjs');
  await writeFile(path, embeddedProgram(file));
  const [command = '', ...words] = [...before, process.execPath, path, ...args];
  const child = spawn(command, words, { cwd: folder, env: { PATH: process.env['PATH'] }, stdio });
  return {
    child,
    exited: exitOf(child),
    async [Symbol.asyncDispose]() {
      await end(child);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function exitOf(child: ChildProcess): Promise<[number | null, string | null]> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return [code, signal];
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** Sends a new listening socket to a program, and returns its port when the program has it. */
export async function sendListener({ child }: Embedded, message: object): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo; // it listens on a port
  const gone = once(child, 'disconnect');
  child.send(message, listener, () => {});
  listener.close();
  child.disconnect();
  await gone;
  return port;
}

/** A server on the loopback address that answers with a word, and the text that it received. */
export async function openEcho(word: string): Promise<{ server: Server; port: number } & Disposable> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    text(socket).then(
      (received) => socket.end(`${word} ${received}`),
      () => socket.destroy(),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on a port
  return { server, port, [Symbol.dispose]: () => void server.close() };
}

/** Sends a text, ends the connection, and returns the answer. Empty if the connection breaks. */
export async function ask(to: { port: number; host?: string }, question: string): Promise<string> {
  const socket: Socket = connect({ host: '127.0.0.1', ...to, allowHalfOpen: true });
  socket.end(question);
  return text(socket).catch(() => '');
}
