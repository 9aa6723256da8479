import type { ExecEvent } from '@toolhive/contract/exec';
import { expect, test } from 'vitest';
import { ProgramOutput } from './program-output.ts';

const output = (text: string): ExecEvent => ({ type: 'output', stream: 'stderr', text });
const megabyte = 'x'.repeat(1024 ** 2);

test('what waits is read in its order, also after the end', async () => {
  const program = new ProgramOutput();

  program.add({ type: 'started' });
  program.add(output('Code: '));
  program.add(output(''));
  program.end();

  expect(await Array.fromAsync(program)).toEqual([{ type: 'started' }, output('Code: ')]);
});

test('a reader gets what comes later', async () => {
  const program = new ProgramOutput();
  const read = Array.fromAsync(program);

  program.add(output('first'));
  await program.room();
  program.add(output('second'));
  program.end();

  expect(await read).toEqual([output('first'), output('second')]);
});

test('a flood without a reader is left out, and a later reader is told', async () => {
  const program = new ProgramOutput();

  program.add(output(megabyte));
  for (let count = 0; count < 100; count += 1) program.add(output(megabyte));
  program.add({ type: 'ended', exit_code: 0, reason: 'exited with code 0', starts: false });
  program.end();

  const [first, told, last, ...more] = await Array.fromAsync(program);
  expect([first, more]).toEqual([output(megabyte), []]);
  expect(told).toMatchObject({
    text: expect.stringContaining(`${100 * megabyte.length} characters of the output were left out`),
  });
  expect(last).toMatchObject({ type: 'ended' });
});

test('a writer that waits for room continues when the reader has caught up, and at the end', async () => {
  const program = new ProgramOutput();
  const events = program[Symbol.asyncIterator]();
  program.add(output(megabyte));
  let hasRoom = false;
  const room = program.room().then(() => (hasRoom = true));

  const before = hasRoom;
  await events.next();
  await room;
  program.add(output(megabyte));
  const ended = program.room();
  program.end();
  await ended;

  expect([before, hasRoom]).toEqual([false, true]);
});
