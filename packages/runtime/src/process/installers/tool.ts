import { spawn } from 'node:child_process';
import { type ThvError, cancelled, unavailable } from '@toolhive/contract/failure';
import type { Progress } from '../../runtime.ts';
import { findProgram } from '../programs.ts';

/** What an installer works with. */
export interface Workshop {
  /** The hive's environment, of which only what installers need is handed on. */
  env: NodeJS.ProcessEnv;
  /** The package cache, for what a tool keeps between installs. */
  cacheDir: string;
  report: Progress;
  signal: AbortSignal;
}

export interface ToolCall {
  name: string;
  args: readonly string[];
  cwd: string;
  env?: Record<string, string>;
  /** What to do when the tool is not there. */
  missing: string;
  onLine?: (line: string) => void;
}

export interface ToolResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a tool of an ecosystem to its end; an abort kills it and everything that it started. */
export async function runTool(call: ToolCall, { env, signal }: Workshop): Promise<ToolResult> {
  const program = await findProgram(call.name, env);
  if (program === undefined) throw unavailable(`${call.name} is not installed`, { hint: call.missing });
  if (signal.aborted) throw cancelled('the installation was cancelled');
  const guard = await findProgram('setpriv', env);
  const command = [
    // Without it, an installer would go on alone when the hive is killed.
    ...(guard === undefined || process.platform !== 'linux' ? [] : [guard, '--pdeathsig', 'KILL', '--']),
    program,
    ...call.args,
  ];
  const result = await run(command, call, { ...installerEnvironment(env), ...call.env }, signal);
  if (signal.aborted) throw cancelled('the installation was cancelled');
  return result;
}

function run([program = '', ...args]: string[], call: ToolCall, env: NodeJS.ProcessEnv, signal: AbortSignal) {
  return new Promise<ToolResult>((resolve, reject) => {
    // A group of its own, so that one signal reaches the tool's children as well.
    const child = spawn(program, args, {
      cwd: call.cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const kill = () => killGroup(child.pid);
    signal.addEventListener('abort', kill);
    if (signal.aborted) kill(); // while the program was looked for
    const stdout = new Capture();
    const stderr = new Capture(call.onLine);
    child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
    child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      signal.removeEventListener('abort', kill);
      resolve({ code, stdout: stdout.text, stderr: stderr.text });
    });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}

/**
 * A registry that shows a certificate which the tool does not trust: as likely as not somebody stands between who is
 * allowed to. Undefined when that is not what the tool complains of.
 */
export function distrustIn(said: string): ThvError | undefined {
  const [reason] = certificateTrouble.exec(said) ?? [];
  if (reason === undefined) return undefined;
  return unavailable(`cannot reach the package registry: ${reason}`, {
    hint: 'if a proxy of your company stands between, name its certificate authority with `thv config set-ca-cert`',
  });
}

/** In the words of Node.js, rustls and Go. */
const certificateTrouble =
  /self.signed certificate(?: in certificate chain)?|unable to (?:get local issuer certificate|verify the first certificate)|invalid peer certificate: \w+|certificate signed by unknown authority/i;

const CAPTURE_LIMIT = 4 * 1024 * 1024;

/** Keeps the beginning of what a tool writes, and tells it line by line. */
class Capture {
  text = '';
  readonly #onLine: ((line: string) => void) | undefined;
  #rest = '';

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  add(chunk: Buffer): void {
    const text = chunk.toString();
    if (this.text.length < CAPTURE_LIMIT) this.text += text;
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop()?.slice(-1000) ?? '';
    for (const line of lines) this.#onLine?.(line.trim());
  }
}

const handedOn = [
  /^(PATH|HOME|USER|LOGNAME|LANG|TMPDIR|XDG_CACHE_HOME|XDG_CONFIG_HOME|XDG_DATA_HOME)$/,
  /^(https?|all|no)_proxy$/i,
  /^(SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|GIT_SSL_CAINFO)$/,
  /^npm_config_/i,
  /^NPM_/,
  /^UV_/,
  /^GO(PROXY|PRIVATE|NOPROXY|SUMDB|NOSUMDB|INSECURE|AUTH|ENV|ROOT|VCS)$/,
];

/** What of the hive's environment an installer sees: where registries are and how to reach them, no secrets of others. */
export function installerEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => handedOn.some((pattern) => pattern.test(name))),
  );
}
