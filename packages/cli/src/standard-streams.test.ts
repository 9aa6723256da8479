import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text as textOf } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';

const module = JSON.stringify(new URL('./standard-streams.ts', import.meta.url).href);

/** A program that has both streams. */
const program = (lines: string): string =>
  `import { standardError, standardOutput } from ${module};\n${lines}`;

/** Runs a shell command that finds the program in $PROGRAM, and reads its output when it says so, or at once. */
async function runInShell(command: string, script: string, readWhen?: RegExp) {
  const child = spawn('sh', ['-c', command], {
    env: { ...process.env, NODE: process.execPath, PROGRAM: program(script), NODE_NO_WARNINGS: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stderr = textOf(child.stderr);
  if (readWhen !== undefined) {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    while (!readWhen.test(said)) await once(child.stderr, 'data');
  }
  const stdout = await textOf(child.stdout);
  return { stdout, stderr: await stderr };
}

const run = '"$NODE" --input-type=module-typescript -e "$PROGRAM"';

describe.skipIf(process.platform === 'win32')('a standard stream', () => {
  test('keeps the order of texts from before and after it becomes a stream', async () => {
    const script = `standardOutput.write('a'); standardOutput.stream.write('b'); standardOutput.write('c\\n');
      standardError.write(String([standardOutput.isTerminal, standardOutput.columns]));`;

    expect(await runInShell(run, script)).toEqual({ stdout: 'abc\n', stderr: 'false,0' });
  });

  test('does not become a stream for text', async () => {
    const script = `standardOutput.write('text\\n');
      process.once('exit', () => standardError.write(String(process.moduleLoadList.includes('NativeModule net'))));`;

    expect(await runInShell(run, script)).toEqual({ stdout: 'text\n', stderr: 'false' });
  });

  test('ignores that its reader has seen enough', async () => {
    const script = `for (let line = 0; line < 100_000; line += 1) standardOutput.write('line ' + line + '\\n');
      standardError.write('wrote all');`;

    expect(await runInShell(`${run} | head -n 1`, script)).toEqual({
      stdout: 'line 0\n',
      stderr: 'wrote all',
    });
  });

  test('does not become a stream for colors outside of a terminal', async () => {
    const script = `standardOutput.write(standardOutput.paint('green', 'text'));
      process.once('exit', () => standardError.write(String(process.moduleLoadList.includes('NativeModule net'))));`;

    expect(await runInShell(run, script)).toEqual({ stdout: 'text', stderr: 'false' });
    expect(await runInShell(`FORCE_COLOR=1 ${run}`, script)).toMatchObject({
      stdout: '\u001B[32mtext\u001B[39m',
    });
  });

  test('ends the process with one line if its stream fails', async () => {
    const script = `standardOutput.stream.write('text'); setTimeout(() => standardError.write('continues'), 60_000);`;

    expect(await runInShell(`${run} > /dev/full; echo "exit code $?" >&2`, script)).toEqual({
      stdout: '',
      stderr: 'Error: ENOSPC: no space left on device, write\nexit code 1\n',
    });
  });

  test.each(['write', 'stream.write'])('continues if standard error fails in %s', async (write) => {
    const script = `standardError.${write}('text'); setTimeout(() => standardOutput.write('continues'));`;

    expect(await runInShell(`${run} 2> /dev/full`, script)).toEqual({ stdout: 'continues', stderr: '' });
  });

  test('reports a full disk as an error that can be caught', async () => {
    const script = `try { standardOutput.write('text'); } catch (error) { standardError.write(error.code); }`;

    expect(await runInShell(`${run} > /dev/full`, script)).toEqual({ stdout: '', stderr: 'ENOSPC' });
  });

  test('loses nothing if another process made its pipe one that does not block', async () => {
    const script = `import { readFileSync } from 'node:fs';
      const flags = () => parseInt(/flags:\\s*(\\d+)/.exec(readFileSync('/proc/self/fdinfo/1', 'utf8'))[1], 8);
      while ((flags() & 0o4000) === 0);
      standardError.write('writes');
      standardOutput.write('x'.repeat(3_000_000));
      standardOutput.write('end');`;
    const holder = '"$NODE" -e "process.stdout.write(String()); setInterval(() => {}, 1000)" & held=$!';

    const { stdout } = await runInShell(`${holder}; ${run}; kill $held`, script, /writes/);

    expect(stdout).toHaveLength(3_000_003);
    expect(stdout.endsWith('xend')).toBe(true);
  });
});
