import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@toolhive/contract/client';
import type { Client, Send } from '@toolhive/contract/client';
import { cancelled, timedOut, unavailable } from '@toolhive/contract/failure';
import { statePaths } from '@toolhive/core/paths';
import type { StatePaths } from '@toolhive/core/paths';
import { exitCodeOf } from './report.ts';

/** How long a hive in the background may take until it answers. */
const startLimitMs = 20_000;
const pollMs = 25;

/** A client of the hive that owns this user's state; starts one in the background when there is none. */
export async function connectToHive({
  note,
  signal,
}: {
  note: (text: string) => void;
  signal: AbortSignal;
}): Promise<Client> {
  const paths = statePaths(process.env);
  if (!(await isListening(paths.socket))) await startHive(paths, note, signal);
  return createClient(sendTo(paths.socket));
}

/** A client of the hive, or undefined when none is there. */
export async function findHive(): Promise<Client | undefined> {
  const { socket } = statePaths(process.env);
  return (await isListening(socket)) ? createClient(sendTo(socket)) : undefined;
}

/** Sends requests over a Unix socket. `node:http`, because loading `fetch` costs more than a whole command may. */
function sendTo(socketPath: string): Send {
  return ({ method, path, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<Send>>>();
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = httpRequest(
      {
        socketPath,
        method,
        path,
        headers: { host: 'localhost', ...headers, ...length },
        agent: false,
        ...(signal ? { signal } : {}),
      },
      (response) => {
        response.setEncoding('utf8');
        resolve({ status: response.statusCode ?? 500, body: response });
      },
    );
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted === true) reject(cancelled('cancelled', { cause: error }));
      else reject(unavailable('the hive ended while it was asked', { hint: 'try again', cause: error }));
    });
    request.end(body);
    return promise;
  };
}

async function isListening(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ path });
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  const isThere = await promise;
  socket.destroy();
  return isThere;
}

/** Starts a hive that outlives this command and listens on its Unix socket only. */
async function startHive(
  paths: StatePaths,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  mkdirSync(paths.logs, { recursive: true, mode: 0o750 });
  const logPath = join(paths.logs, 'hive.log');
  const log = openSync(logPath, 'a', 0o600);
  const script = process.argv[1] ?? '';
  const hive = spawn(process.execPath, [...process.execArgv, script, 'serve', '--background'], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  let exitCode: number | null | undefined;
  hive.once('exit', (code) => (exitCode = code ?? 1));
  hive.once('error', () => (exitCode = 1));
  hive.unref();

  const deadline = performance.now() + startLimitMs;
  while (!(await isListening(paths.socket))) {
    // Another command may have started one at the same time: then ours ends, and theirs will answer.
    if (exitCode !== undefined && exitCode !== exitCodeOf('conflict')) {
      throw unavailable('the hive could not be started', { hint: `its log says why: ${logPath}` });
    }
    if (performance.now() > deadline) {
      throw timedOut('the hive did not start in time', { hint: `its log may say why: ${logPath}` });
    }
    await delay(pollMs, undefined, { signal });
  }
  note(`started a hive in the background (log: ${logPath})`);
}
