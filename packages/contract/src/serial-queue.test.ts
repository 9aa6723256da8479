import { expect, test } from 'vitest';
import { KeyedSerialQueue, SerialQueue } from './serial-queue.ts';

test('runs tasks one after the other, in the order of the calls', async () => {
  const queue = new SerialQueue();
  const steps: string[] = [];
  const first = Promise.withResolvers<void>();

  const tasks = [
    queue.run(async () => {
      steps.push('first begins');
      await first.promise;
      steps.push('first ends');
    }),
    queue.run(() => steps.push('second')),
  ];
  await tasksOfThisTurn();
  first.resolve();
  await Promise.all(tasks);

  expect(steps).toEqual(['first begins', 'first ends', 'second']);
});

test('runs the tasks after one that failed, and rejects only for the caller of that one', async () => {
  const queue = new SerialQueue();

  const failed = queue.run(() => Promise.reject(new Error('the disk is full')));
  const thrown = queue.run(() => {
    throw new Error('a mistake');
  });
  const after = queue.run(() => 'done');

  await expect(failed).rejects.toThrow('the disk is full');
  await expect(thrown).rejects.toThrow('a mistake');
  expect(await after).toBe('done');
});

test('is idle when all tasks so far have ended, also failed ones', async () => {
  const queue = new SerialQueue();
  const steps: string[] = [];
  const release = Promise.withResolvers<void>();
  void queue.run(() => release.promise.then(() => steps.push('first')));
  queue.run(() => Promise.reject(new Error('a mistake'))).catch(() => steps.push('failed'));

  const idle = queue.idle().then(() => steps.push('idle'));
  await tasksOfThisTurn();
  release.resolve();
  await idle;

  expect(steps).toEqual(['first', 'failed', 'idle']);
});

test('runs tasks of different keys at the same time, and those of one key in order', async () => {
  const queue = new KeyedSerialQueue();
  const steps: string[] = [];
  const release = Promise.withResolvers<void>();

  const tasks = [
    queue.run('a', () => release.promise.then(() => steps.push('a1'))),
    queue.run('a', () => steps.push('a2')),
    queue.run('b', () => steps.push('b1')),
  ];
  await tasks[2];
  release.resolve();
  await Promise.all(tasks);

  expect(steps).toEqual(['b1', 'a1', 'a2']);
});

test('forgets a key once its tasks have ended, also failed ones', async () => {
  const queue = new KeyedSerialQueue();

  const failed = queue.run('a', () => Promise.reject(new Error('a mistake')));
  const after = queue.run('a', () => 'done');

  expect(queue.size).toBe(1);
  await expect(failed).rejects.toThrow('a mistake');
  await after;
  expect(queue.size).toBe(0);
});

/** Returns after everything that is already due has run. */
function tasksOfThisTurn(): Promise<void> {
  return new Promise(setImmediate);
}
