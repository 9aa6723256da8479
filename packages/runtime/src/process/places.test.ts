import { expect, test } from 'vitest';
import { Places } from './places.ts';

const never = new AbortController().signal;

test('tasks beyond the limit wait in the order of their calls, and say so', async () => {
  const places = new Places(1);
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  const messages: string[] = [];
  const call = { report: (message: string) => messages.push(message), signal: never };

  const running = places.run(() => first.promise.then(() => order.push('first')), call);
  const waiting = ['second', 'third'].map((name) => places.run(async () => order.push(name), call));
  first.resolve();
  await Promise.all([running, ...waiting]);

  expect(order).toEqual(['first', 'second', 'third']);
  expect(messages).toEqual(['waiting for other installations', 'waiting for other installations']);
});

test('a task that fails or is given up leaves its place to the next one', async () => {
  const places = new Places(1);
  const first = Promise.withResolvers<void>();
  const giveUp = new AbortController();
  const report = (): void => {};

  const failing = places.run(() => first.promise, { report, signal: never });
  const abandoned = places.run(async () => 'abandoned', { report, signal: giveUp.signal });
  const last = places.run(async () => 'last', { report, signal: never });
  giveUp.abort();
  first.reject(new Error('failed'));

  await expect(failing).rejects.toThrow('failed');
  await expect(abandoned).rejects.toMatchObject({ kind: 'cancelled' });
  expect(await last).toBe('last');
  expect(await places.run(async () => 'again', { report, signal: never })).toBe('again');
});
