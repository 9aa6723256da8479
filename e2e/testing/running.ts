import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { thvScript, until } from './thv.ts';
import type { User } from './thv.ts';

/** A command that goes on until it is told to end. */
export interface RunningCommand extends AsyncDisposable {
  child: ChildProcessWithoutNullStreams;
  stdout: () => string;
  stderr: () => string;
  /** Its exit code; null when a signal ended it. */
  ended: Promise<number | null>;
  /** Returns what the pattern captures, as soon as one of its streams has it. Throws when it ends before. */
  printed(pattern: RegExp): Promise<string>;
  /** Tells it to end, and returns its exit code. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts a command of `thv` that goes on, with its standard streams as pipes. */
export function startCommand(
  user: User,
  words: readonly string[],
  env: NodeJS.ProcessEnv = {},
): RunningCommand {
  const child = spawn(process.execPath, ['--', thvScript, ...words], { env: { ...user.env, ...env } });
  const printed = { stdout: '', stderr: '' };
  child.stdin.on('error', () => {}); // it may have ended
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8');
    child[stream].on('data', (text: string) => (printed[stream] += text));
  }
  let hasEnded = false;
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      hasEnded = true;
      resolve(code);
    });
  });
  const end = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal);
    return ended;
  };
  return {
    child,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    ended,
    printed: (pattern) =>
      until(() => {
        const found = pattern.exec(printed.stdout) ?? pattern.exec(printed.stderr);
        if (found === null && hasEnded) throw new Error(`it has ended: ${printed.stdout}${printed.stderr}`);
        return found?.[1];
      }),
    end,
    async [Symbol.asyncDispose]() {
      await end();
    },
  };
}
