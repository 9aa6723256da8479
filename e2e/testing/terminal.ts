import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { thvStart, until } from './thv.ts';
import type { User } from './thv.ts';

/** A command under a pseudo-terminal, as a person at a keyboard has it. */
export interface Terminal {
  /** Everything that stands on the screen, without the codes that move and colour. */
  screen: () => string;
  /** Waits until the screen has this text. */
  shows: (text: string | RegExp) => Promise<void>;
  /** Types keys; `\r` is Enter, `\x03` Ctrl-C. */
  type: (keys: string) => void;
  ended: Promise<number>;
}

/** Starts `thv` in a terminal of so many columns. The program `script` (util-linux) makes the terminal. */
export function openTerminal(user: User, words: readonly string[], { columns = 100 } = {}): Terminal {
  const command = [process.execPath, ...thvStart, ...words].map(quoted).join(' ');
  const child = spawn('script', ['-qefc', `stty cols ${columns} rows 40; ${command}`, '/dev/null'], {
    env: { ...user.env, TERM: 'xterm', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {}); // the command ends while keys arrive
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  const screen = (): string => stripVTControlCharacters(output).replaceAll('\r\n', '\n');
  return {
    screen,
    shows: async (text) => {
      await until(() => {
        const shown = screen();
        if (typeof text === 'string' ? shown.includes(text) : text.test(shown)) return true;
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode} and showed: ${shown}`);
        return undefined;
      });
    },
    type: (keys) => void child.stdin.write(keys),
    ended,
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
