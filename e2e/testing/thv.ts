import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, symlink } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openNpmRegistry } from '@toolhive/runtime/testing/npm-registry';
import { isRunnable, runCommand } from './command-runner.ts';
import type { Outcome } from './command-runner.ts';
import { root, thvScript } from './places.ts';
import { shareTestServers } from './shared-servers.ts';

export { root, thvScript };

/** What Node.js is told before the words of a person, as the first line of the script says. */
export const thvStart = ['--', thvScript] as const;

/** A user of `thv` with a home of their own, whose npm finds the test servers. */
export interface User extends AsyncDisposable {
  home: string;
  env: NodeJS.ProcessEnv;
  thv(...words: string[]): Promise<Outcome>;
  /** Starts a command and does not wait for it. */
  start(...words: string[]): Started;
  /** The same as `thv`, for what has to succeed. */
  mustThv(...words: string[]): Promise<string>;
  /** The process id of the daemon that runs now. */
  daemonPid(): Promise<number>;
  /** Kills the daemon that runs now. Returns when the next command finds none. */
  killDaemon(): Promise<void>;
  /** Asks the daemon's own socket. */
  api(method: string, path: string): Promise<{ status: number; text: string }>;
}

interface Started {
  child: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  ended: Promise<number | null>;
}

/** The npm package with the test servers. */
export const testPackage = 'toolhive-test-servers';

/** How a test asks for the test servers. Without a version, each new workload starts npm to look for the newest one. */
export const testServer = `npx://${testPackage}@1.0.0`;

/** What npm has downloaded, for all tests: packages by their content. */
const sharedDownloads = join(root, '.cache/npm/_cacache');

/**
 * A cache of npm with the downloads of all tests. What npx has installed is not shared: an installation that was stopped
 * would fail in every later test.
 */
async function openNpmCache(home: string): Promise<string> {
  const cache = join(home, '.npm');
  await mkdir(sharedDownloads, { recursive: true });
  await mkdir(cache);
  await symlink(sharedDownloads, join(cache, '_cacache'));
  return cache;
}

/** The settings that reach the public registries from this machine, for the few tests that are about those. */
export function publicRegistries(): NodeJS.ProcessEnv {
  const { npm_config_registry, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, PIP_CERT, GOPROXY } = process.env;
  return {
    npm_config_registry,
    NODE_EXTRA_CA_CERTS,
    SSL_CERT_FILE,
    PIP_CERT,
    GOPROXY,
    npm_config_userconfig: join(homedir(), '.npmrc'),
  };
}

/**
 * `program` is what they call `thv`: the one of this repository, unless a test installs another. Commands of a given program
 * are separate processes.
 */
export async function makeUser({
  env: changes = {},
  program: ownProgram,
}: { env?: NodeJS.ProcessEnv; program?: readonly [string, ...string[]] } = {}): Promise<User> {
  await using opened = new AsyncDisposableStack();
  const program = ownProgram ?? ([process.execPath, ...thvStart] as const);
  const run = async (words: readonly string[]): Promise<Outcome> =>
    ownProgram === undefined && isRunnable({ words, env })
      ? runCommand({ words, env })
      : runThv(program, words, env);
  const home = await mkdtemp(join(tmpdir(), 'thv-user-'));
  opened.defer(() => rm(home, { recursive: true, force: true }));
  const registry = opened.use(await openNpmRegistry([join(root, 'packages/test-servers')]));
  // The same version can have another content in another registry.
  if (!Object.hasOwn(changes, 'npm_config_registry')) await shareTestServers(home);
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    HOME: home,
    TOOLHIVE_RUNTIME: 'process',
    TOOLHIVE_UI_PORT: '0', // other tests need the usual one
    npm_config_registry: registry.url,
    npm_config_cache: await openNpmCache(home),
    NO_COLOR: '1',
    ...changes,
  };
  const socket = socketIn(home);
  const user: Omit<User, keyof AsyncDisposable> = {
    home,
    env,
    thv: (...words) => run(words),
    start(...words) {
      const [file, ...args] = program;
      const child = spawn(file, [...args, ...words], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let stdout = '';
      child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
      let stderr = '';
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      return { child, stdout: () => stdout, stderr: () => stderr, ended };
    },
    async mustThv(...words) {
      const { code, stdout, stderr } = await run(words);
      if (code !== 0) throw new Error(`thv ${words.join(' ')} ended with ${code}: ${stderr}`);
      return stdout;
    },
    daemonPid: () => daemonPidAt(socket),
    async killDaemon() {
      process.kill(await daemonPidAt(socket), 'SIGKILL');
      await until(async () => !(await isListening(socket)));
    },
    api: (method, path) => askSocket(socket, method, path),
  };
  // The daemon goes first, all of it: it would miss its files, and writes some when it listens no more.
  opened.defer(() => endDaemonIn(home));
  const everything = opened.move();
  return { ...user, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

const socketIn = (home: string): string => join(home, '.local/state/toolhive/hive.sock');

async function daemonPidAt(socket: string): Promise<number> {
  const { text } = await askSocket(socket, 'GET', '/api/v1beta/hive');
  return (JSON.parse(text) as { pid: number }).pid;
}

/** Ends the daemon of a user, if one runs, and waits until its process has ended. */
export async function endDaemonIn(home: string): Promise<void> {
  const socket = socketIn(home);
  if (!(await isListening(socket))) return;
  const pid = await daemonPidAt(socket);
  await askSocket(socket, 'POST', '/api/v1beta/hive/stop');
  await until(() => hasEnded(pid));
}

function runThv(
  [file, ...args]: readonly [string, ...string[]],
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(file, [...args, ...words], { env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
  });
}

/** A daemon in the foreground: `thv serve` on a free port, until it is disposed of. */
export async function serve(user: User, ...words: string[]) {
  const child = spawn(process.execPath, [...thvStart, 'serve', '--port', '0', ...words], {
    env: user.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
  const base = await until(() => {
    if (child.exitCode !== null) throw new Error(`the daemon ended: ${output}`);
    return output.includes('Workloads') ? /API +(http\S+)\/api\/v1beta/.exec(output)?.[1] : undefined;
  });
  return {
    base,
    child,
    output: () => output,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/**
 * Asks until there is an answer. Only the time limit of the test ends it otherwise. A question that is a command, and keeps
 * a processor busy, is followed by a pause of the same length.
 */
export async function until<Answer>(ask: () => Answer | Promise<Answer>): Promise<NonNullable<Answer>> {
  for (;;) {
    const askedAt = performance.now();
    const answer = await ask();
    if (answer) return answer;
    await delay(Math.max(20, performance.now() - askedAt));
  }
}

export async function isListening(where: string | number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket =
    typeof where === 'string' ? connect({ path: where }) : connect({ host: '127.0.0.1', port: where });
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  const isThere = await promise;
  socket.destroy();
  return isThere;
}

async function askSocket(
  socketPath: string,
  method: string,
  path: string,
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const headers = { host: 'localhost', 'content-type': 'application/json' };
  const request = httpRequest({ socketPath, method, path, headers, agent: false }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => (text += chunk));
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
  });
  request.on('error', reject);
  request.end();
  return promise;
}

/** Whether a process is gone. */
export async function hasEnded(pid: number): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return command === ''; // also when its parent has not collected it yet
}

/** The processes of this machine whose command line or environment mentions `text`. */
export async function processesWith(text: string): Promise<{ pid: number; command: string }[]> {
  const found: { pid: number; command: string }[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const read = (file: string): Promise<string> =>
      readFile(`/proc/${entry}/${file}`, 'utf8').catch(() => ''); // it has ended
    const command = (await read('cmdline')).replaceAll('\0', ' ').trim();
    if (command.includes(text) || (await read('environ')).includes(text))
      found.push({ pid: Number(entry), command });
  }
  return found;
}
