import { spawn } from 'node:child_process';
import { closeSync, existsSync, fstatSync, mkdirSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@toolhive/contract/client';
import type { Client, Send } from '@toolhive/contract/client';
import { ThvError, cancelled, timedOut, unavailable } from '@toolhive/contract/failure';
import { ownProgram } from '@toolhive/state/own-program';
import { notWritten } from '@toolhive/contract/system-failure';
import { statePaths } from '@toolhive/state/paths';
import { requirePrivateDirectory } from '@toolhive/state/private-directory';
import type { StatePaths } from '@toolhive/state/paths';
import { daemonLogFile } from './bounded-log.ts';
import { daemonFailure } from './daemon-failure.ts';
import type { ProcessEnd } from './daemon-failure.ts';
import { exitCodeOf } from './report.ts';
import { sendOver } from './socket-request.ts';

/** How long a background daemon may take until it answers, with the end of the one before. */
const startLimitMs = 50_000;
const pollMs = 10;

/** A client of the daemon that owns this user's state. Starts a background daemon if none is running. */
export async function connectToDaemon(connection: Connection): Promise<Client> {
  const paths = statePaths(process.env);
  const open = await openConnection(paths);
  if (open === undefined) await startDaemon(paths, connection);
  const send = repeatingReads(sendTo(paths.socket, open), async () => {
    await delay(pollMs, undefined, { signal: connection.signal });
    if (!(await isListening(paths))) await startDaemon(paths, connection);
  });
  return createClient(connection.debug ? traced(send, connection.note) : send, { offersAll: true });
}

/** How often a read is repeated. A daemon that ends accepts connections for a moment, and then no more. */
const maxRepeats = 20;

/**
 * Repeats requests that change nothing if the daemon ends before its first answer. `again` waits for another one. Later,
 * the end of the daemon is an error: a command that follows a workload would start another daemon in place of the one that
 * was stopped.
 */
function repeatingReads(send: Send, again: () => Promise<void>): Send {
  let hasAnswered = false;
  return async (request) => {
    for (let left = maxRepeats; ; left -= 1) {
      try {
        const answer = await send(request);
        hasAnswered = true;
        return answer;
      } catch (error) {
        const hasEnded = error instanceof ThvError && error.kind === 'unavailable';
        if (!hasEnded || hasAnswered || request.method !== 'GET' || left === 0) throw error;
      }
      await again();
    }
  };
}

interface Connection {
  note: (text: string) => void;
  signal: AbortSignal;
  debug: boolean;
}

/** Reports every request, but never its content, which may include secrets. */
function traced(send: Send, note: (text: string) => void): Send {
  return async (request) => {
    const startedMs = performance.now();
    const answer = await send(request);
    const tookMs = (performance.now() - startedMs).toFixed(1);
    note(`debug: ${request.method} ${request.path} answered ${answer.status} after ${tookMs} ms`);
    return answer;
  };
}

/** A client of the daemon. Undefined if none is running. */
export async function findDaemon(): Promise<Client | undefined> {
  const paths = statePaths(process.env);
  return (await isListening(paths)) ? createClient(sendTo(paths.socket), { offersAll: true }) : undefined;
}

/** Sends requests over a Unix socket. An error says who ended the request. */
function sendTo(socketPath: string, open?: Socket): Send {
  const send = sendOver(socketPath, open);
  return async (request) => {
    try {
      const answer = await send(request);
      return { ...answer, body: piecesOf(answer.body, request.signal) };
    } catch (error) {
      throw endOfTalk(error, request.signal);
    }
  };
}

/** A body in pieces. After an early end, the error says who ended it. */
async function* piecesOf(
  body: AsyncIterable<string>,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  try {
    yield* body;
  } catch (error) {
    throw endOfTalk(error, signal);
  }
}

function endOfTalk(cause: unknown, signal: AbortSignal | undefined): Error {
  if (signal?.aborted === true) return cancelled('cancelled', { cause });
  return unavailable('the daemon ended during the request', { hint: 'try again', cause });
}

/**
 * Opens a connection to the daemon that owns a user's state. Undefined if none is running. Throws if the socket could
 * belong to another user.
 */
async function openConnection({
  socket: path,
  sharedSocketDirectory: shared,
}: StatePaths): Promise<Socket | undefined> {
  if (shared !== undefined) await requirePrivateDirectory(shared);
  const { promise, resolve } = Promise.withResolvers<Socket | undefined>();
  const socket = connect({ path });
  socket.once('connect', () => resolve(socket));
  socket.on('error', () => resolve(undefined));
  return promise;
}

async function isListening(paths: StatePaths): Promise<boolean> {
  const connection = await openConnection(paths);
  connection?.destroy();
  return connection !== undefined;
}

export { ownProgram };

/** Starts a daemon that outlives this command: the installed service, or a process that listens on its Unix socket only. */
async function startDaemon(paths: StatePaths, { note, signal, debug }: Connection): Promise<void> {
  const { startInstalledService } = await import('./commands/service/start-installed.ts');
  if (await startInstalledService(note)) {
    return untilListening(paths, { signal, log: 'thv service status shows its log' });
  }
  // Not among the workloads' logs, because a workload may have the name daemon.
  const logPath = join(paths.state, daemonLogFile);
  const log = openLog(logPath);
  const { size: logged } = fstatSync(log);
  const [program, ...script] = ownProgram();
  const words = ['serve', '--background', ...(debug ? ['--debug'] : [])];
  const daemon = spawn(program, [...script, ...words], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  let end: ProcessEnd | undefined;
  daemon.once('exit', (code, killed) => (end = { code, signal: killed }));
  daemon.once('error', ({ message }) => (end = { code: null, signal: null, reason: message }));
  daemon.unref();

  await untilListening(paths, {
    signal,
    log: `see its log: ${logPath}`,
    check() {
      // Another command may have started one at the same time: then ours ends, and theirs will answer.
      if (end === undefined || end.code === exitCodeOf('conflict')) return;
      throw daemonFailure(logPath, logged, end);
    },
  });
  // The one that answers may have been there before, if it had only lost its socket.
  const running = await createClient(sendTo(paths.socket), { offersAll: true })
    .getDaemon({}, { signal })
    .catch(() => undefined);
  if (running === undefined || running.pid === daemon.pid)
    note(`started a daemon in the background (log: ${logPath})`);
}

interface StartingDaemon {
  signal: AbortSignal;
  /** Where its log is, for the error. */
  log: string;
  /** Throws if the daemon has ended. */
  check?: () => void;
}

async function untilListening(paths: StatePaths, { signal, log, check }: StartingDaemon): Promise<void> {
  const deadline = performance.now() + startLimitMs;
  while (!(await isListening(paths))) {
    check?.();
    if (performance.now() > deadline) throw timedOut('the daemon did not start in time', { hint: log });
    await delay(pollMs, undefined, { signal });
  }
}

/** Opens the daemon's log for appending. Throws `no-space` or `unavailable`, with the path, if that fails. */
function openLog(path: string): number {
  try {
    makeDirectory(dirname(path));
    return openSync(path, 'a', 0o600);
  } catch (error) {
    throw notWritten(`cannot write ${path}`, error);
  }
}

/** One directory at a time: for several at once, Node reports a read-only file system as a missing directory. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error; // another command was faster
  }
}
