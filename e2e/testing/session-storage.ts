import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from '@toolhive/testing/machine';
import { testPort } from '@toolhive/testing/port';
import { until } from './thv.ts';

/** A Valkey or Redis server of this machine, without files. */
export interface StorageServer extends AsyncDisposable {
  port: number;
  password: string;
  /** Sends one command, and returns the whole answer in the protocol of the storage. */
  send: (...words: string[]) => Promise<string>;
  /** Runs a script with all keys, and returns its answer. */
  script: (lua: string) => Promise<string>;
  signal: (signal: NodeJS.Signals) => void;
}

const firstPassword = 'an own password';

const storageProgram = ['valkey-server', 'redis-server'].find((program) => isInstalled(program));

/** Starts a storage. By default, on a free port. */
export async function startStorage(given?: number, flags: string[] = []): Promise<StorageServer> {
  const port = given ?? (await testPort());
  const folder = await mkdtempDisposable(join(tmpdir(), 'thv-storage-'));
  const child = spawn(
    storageProgram ?? 'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--requirepass', firstPassword, ...flags],
    { cwd: folder.path, stdio: 'ignore' },
  );
  const closed = once(child, 'close');
  const send = async (...words: string[]): Promise<string> => {
    const command = (parts: string[]): string =>
      `*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`;
    const socket = connect(port, '127.0.0.1');
    socket.write(command(['AUTH', server.password]) + command(words) + command(['QUIT']));
    let text = '';
    socket.setEncoding('utf8');
    for await (const chunk of socket) text += chunk;
    return text.slice('+OK\r\n'.length, -'+OK\r\n'.length);
  };
  const isUp = (): Promise<boolean> =>
    send('PING').then(
      (answer) => answer.startsWith('+PONG'),
      () => false,
    );
  const server: StorageServer = {
    port,
    password: firstPassword,
    send,
    script: (lua) => send('EVAL', lua, '0'),
    signal: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await closed;
      await folder[Symbol.asyncDispose]();
    },
  };
  await until(isUp);
  return server;
}
