import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

test('runs so many tasks at once, and the others in their order, also after failures', async () => {
  const turns = new Turns(2);
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const tasks = ends.map((end, index) =>
    turns.run(() => {
      begun.push(index);
      return end.promise;
    }),
  );
  const atFirst = [...begun];

  ends[1]?.reject(new Error('failed'));
  await expect(tasks[1]).rejects.toThrow('failed');
  await expect.poll(() => begun.length).toBe(3);
  for (const end of ends) end.resolve();
  await Promise.allSettled(tasks);

  expect(atFirst).toEqual([0, 1]);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});
