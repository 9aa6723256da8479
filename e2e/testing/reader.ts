import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { testPort } from '@toolhive/testing/port';
import type { Block, Page } from './pages.ts';
import { thvStart, until } from './thv.ts';
import type { User } from './thv.ts';

/** A reader who follows the steps of a page, with a separate home directory. */
interface Reader extends AsyncDisposable {
  /** Writes a block to the file that its title names. */
  write(block: Block): Promise<void>;
  /** Runs a block. What it printed is told as the page tells it, where the page tells no more than is true. */
  run(block: Block, expected: Block | undefined): Promise<{ printed: string[]; wanted: string[] }>;
  /** Ends everything that runs in the background. */
  endBackground(): Promise<void>;
}

/** Ends a shell and its children. The shell may have ended a moment ago. */
function endGroupOf({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** What is left running ends with the reader. */
export async function openReader(user: User, page: Page): Promise<Reader> {
  const env = { ...user.env, PATH: `${await installThv(user)}:${user.env['PATH']}` };
  const onFreePorts = await freePortsFor(page);
  const background: Shell[] = [];
  const endBackground = async (): Promise<void> => {
    for (const { child, ended } of background.splice(0)) {
      endGroupOf(child);
      await ended;
    }
  };
  return {
    write: ({ title = '', text }) => writeFile(join(user.home, title), text),

    async run({ text, marks, where, keys }, expected) {
      const shell = openShell(onFreePorts(text), user.home, env, keys.length > 0);
      const compare = (): { printed: string[]; wanted: string[] } => {
        if (expected === undefined) return { printed: [], wanted: [] };
        const wanted = linesOf(expected.text, expected, user);
        const printed = linesOf(shell.output(), expected, user);
        return { wanted, printed: shapeOf(wanted).test(printed.join('')) ? wanted : printed };
      };
      if (marks.includes('background')) {
        background.push(shell);
        return until(() => {
          if (shell.child.exitCode !== null) throw new Error(`${where} has ended: ${shell.output()}`);
          const { printed, wanted } = compare();
          return printed === wanted || expected === undefined ? { printed, wanted } : undefined;
        });
      }
      for (const [shown, typed] of keys) {
        await until(() => {
          if (shell.child.exitCode !== null)
            throw new Error(`${where} has ended before it showed ${shown}: ${shell.output()}`);
          return shell.output().includes(shown) ? true : undefined;
        });
        shell.child.stdin?.write(typed);
      }
      const code = await Promise.race([shell.ended, ...background.map(failureOf)]);
      if ((code !== 0) !== marks.includes('fails'))
        throw new Error(`${where} ended with ${code}: ${shell.output()}`);
      return compare();
    },

    endBackground,
    [Symbol.asyncDispose]: endBackground,
  };
}

/** Puts `thv` where a shell finds it, and returns the folder. */
async function installThv({ home }: User): Promise<string> {
  const folder = join(home, '.programs');
  await mkdir(folder, { recursive: true });
  const start = [process.execPath, ...thvStart].map((word) => `'${word}'`).join(' ');
  const text = `#!/bin/sh\nexec ${start} "$@"\n`;
  // Another process writes it: a program that is started meanwhile would inherit this file, open for writing, and an open
  // file cannot be started (ETXTBSY).
  const words = ['-c', 'printf %s "$1" >"$2" && chmod 755 "$2"', 'sh', text, join(folder, 'thv')];
  await promisify(execFile)('/bin/sh', words);
  return folder;
}

/** Rejects when a program in the background fails: what a later block waits for would never come. */
async function failureOf({ output, ended }: Shell): Promise<never> {
  const code = await ended;
  if (code !== 0) throw new Error(`a program in the background ended with ${code}: ${output()}`);
  return new Promise(() => {});
}

interface Shell {
  child: ChildProcess;
  output: () => string;
  ended: Promise<number>;
}

function openShell(text: string, cwd: string, env: NodeJS.ProcessEnv, hasTerminal: boolean): Shell {
  // Both streams use one pipe, as in a terminal, which keeps their order.
  const script = `exec 2>&1\n${text}`;
  const [program, ...args]: [string, ...string[]] = hasTerminal
    ? ['script', '-qefc', 'stty cols 100 rows 40; bash -euo pipefail -c "$PAGE_BLOCK"', '/dev/null']
    : ['bash', '-euo', 'pipefail', '-c', script];
  const child = spawn(program, args, {
    cwd,
    env: hasTerminal ? { ...env, TERM: 'xterm', SHELL: '/bin/sh', PAGE_BLOCK: script } : env,
    // With a socket as its input, bash would read its configuration.
    stdio: [hasTerminal ? 'pipe' : 'ignore', 'pipe', 'inherit'],
    detached: true, // a separate process group, which is ended as a whole
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)));
  return { child, output: () => output, ended };
}

/** The port of the API by default. */
const apiPort = '8080';
/** The ports of the Inspector by default. */
const inspectorPorts = ['6274', '6277'] as const;

/** Pages name ports, which may be taken here: for each a free one, wherever commands name it. */
async function freePortsFor({ blocks }: Page): Promise<(command: string) => string> {
  const text = blocks.map((block) => block.text).join('\n');
  const named = [...text.matchAll(/(?:--(?:proxy-|ui-|mcp-proxy-)?port |\bPORT=)(\d+)/g)].map(
    ([, port = '']) => port,
  );
  const free = new Map<string, number>();
  for (const port of [apiPort, ...inspectorPorts, ...named]) free.set(port, await testPort());
  return (command) =>
    command
      .replaceAll(/^thv serve(?!.*--port)/gm, `$& --port ${apiPort}`)
      .replaceAll(
        /^thv inspector .*$/gm,
        `$& --ui-port ${inspectorPorts[0]} --mcp-proxy-port ${inspectorPorts[1]}`,
      )
      .replaceAll(
        /(?<=--(?:proxy-|ui-|mcp-proxy-)?port |\bPORT=|127\.0\.0\.1:|localhost:)\d+/g,
        (port) => `${free.get(port) ?? port}`,
      );
}

/** Said only of machines where the tests run as root, or when a package is new, or a daemon, or of some registries. */
const sometimes =
  /runs as root, so servers read and write their granted files as root|^note: provenance: |was published very recently, at |^started a daemon in|^- (?:resolving|installing|installed|downloading|downloaded) /;

/** What is another value on every machine, and what stands for it. */
const values: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\b\d{4,5}\b/g, 'PORT'],
  [/\bbubblewrap [\d.]+ at \S+/g, 'BUBBLEWRAP'],
  [/\s+/g, ' '],
];

/** The lines that count, each with its end. */
function linesOf(text: string, { language }: Block, { home }: User): string[] {
  return (language === 'json' ? spread(text) : stripVTControlCharacters(text))
    .replaceAll(home, '/home/you')
    .split('\n')
    .filter((line) => !sometimes.test(line))
    .map((line) => values.reduce((rest, [value, word]) => rest.replaceAll(value, word), line).trim())
    .filter((line) => line !== '')
    .map((line) => `${line}\n`);
}

/** Pages show JSON in more lines than it was sent in. */
function spread(json: string): string {
  return JSON.stringify(JSON.parse(json), undefined, 2);
}

function shapeOf(wanted: readonly string[]): RegExp {
  const lines = wanted.map((line) =>
    line === '…\n' ? '(?:.*\\n)*?' : RegExp.escape(line).replaceAll('…', '.*'),
  );
  return new RegExp(`^${lines.join('')}$`);
}
