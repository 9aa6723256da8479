import { ApiStatus } from '@toolhive/kubernetes/status';
import { expect, test } from 'vitest';
import { Queue } from './queue.ts';
import type { Reconcile } from './queue.ts';

const observer = { depth() {}, added() {}, retried() {}, waited() {} };

function queueOf(reconcile: Reconcile, concurrency = 4): Queue {
  return new Queue({ reconcile, concurrency, observer, onError() {} });
}

test('a key that is added many times has one pass', async () => {
  const passes: string[] = [];
  const gate = Promise.withResolvers<void>();
  const queue = queueOf(async (key) => {
    passes.push(key);
    await gate.promise;
  }, 1);

  queue.add('first');
  for (let count = 0; count < 10; count += 1) queue.add('second');
  gate.resolve();
  await queue.idle();

  expect(passes).toEqual(['first', 'second']);
});

test('a key never has two passes at once, and a change during a pass leads to another pass', async () => {
  let active = 0;
  let most = 0;
  let passes = 0;
  const queue = queueOf(async (key) => {
    active += 1;
    most = Math.max(most, active);
    passes += 1;
    if (passes === 1) queue.add(key);
    await Promise.resolve();
    active -= 1;
  });

  queue.add('one');
  await expect.poll(() => passes).toBe(2);
  await queue.idle();

  expect(most).toBe(1);
});

test('a failed pass is repeated until it succeeds', async () => {
  let passes = 0;
  const done = Promise.withResolvers<void>();
  const queue = queueOf(async () => {
    passes += 1;
    if (passes < 4) throw new Error('not yet');
    done.resolve();
  });

  queue.add('one');
  await done.promise;

  expect(passes).toBe(4);
});

test('stopping ends the current pass and starts no other', async () => {
  const passes: string[] = [];
  const queue = queueOf(async (key, signal) => {
    passes.push(key);
    const ended = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => ended.resolve());
    await ended.promise;
  }, 1);

  queue.add('one');
  queue.add('two');
  await queue.stop();
  queue.add('three');

  expect(passes).toEqual(['one']);
});

/** The delays before the next passes of keys whose first passes fail. */
async function delaysOf(keys: number, error: Error): Promise<number[]> {
  const delays: number[] = [];
  const queue = new Queue({
    reconcile: () => Promise.reject(error),
    concurrency: 4,
    observer,
    onError: (_key, _error, retryInMs) => void delays.push(retryInMs),
  });
  for (let key = 0; key < keys; key += 1) queue.add(String(key));
  await expect.poll(() => delays.length).toBeGreaterThanOrEqual(keys);
  await queue.stop();
  return delays;
}

test('a pass that the API server refuses for a time is not repeated earlier', async () => {
  const [delay = 0] = await delaysOf(1, new ApiStatus(429, 'TooManyRequests', 'too many requests', 7));

  expect(delay).toBe(7_000);
});

test('many failing keys share a limit of retries, and none waits for long', async () => {
  const delays = await delaysOf(1_000, new Error('not yet'));

  expect(delays.filter((delay) => delay < 1_000).length).toBeLessThan(500);
  expect(Math.max(...delays)).toBeLessThan(30_000);
});

test('a namespace with many keys delays the key of another one by one pass', async () => {
  const passes: string[] = [];
  const gate = Promise.withResolvers<void>();
  const queue = queueOf(async (key) => {
    passes.push(key);
    await gate.promise;
  }, 1);

  for (const name of ['a', 'b', 'c', 'd']) queue.add(`many/${name}`);
  queue.add('other/a');
  gate.resolve();
  await queue.idle();

  expect(passes).toEqual(['many/a', 'many/b', 'other/a', 'many/c', 'many/d']);
});
