import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitingProgram } from './waiting-image.ts';

test('the program runs until its input ends, whatever it reads', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'thv-pause-'));
  const path = join(folder.path, 'pause');
  await writeFile(path, waitingProgram(), { mode: 0o755 });
  const program = spawn(path, { stdio: ['pipe', 'ignore', 'ignore'] });
  const exited = once(program, 'exit');

  await new Promise((resolve) => program.stdin.write('a\nb', resolve));
  const before = program.exitCode;
  program.stdin.end();

  expect(before).toBeNull();
  expect(await exited).toEqual([0, null]);
});

test('there is one for each processor that containers run on', () => {
  const machine = (architecture: NodeJS.Architecture) => waitingProgram(architecture).readUInt16LE(18);

  expect([machine('x64'), machine('arm64')]).toEqual([62, 183]); // EM_X86_64 and EM_AARCH64
  expect(() => waitingProgram('mips')).toThrow('not available on mips');
});
