import { AsyncLocalStorage } from 'node:async_hooks';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WorkloadInput } from '../input/workload-input.ts';
import { ReplyQueue, writeNow, writeSoon } from './reply-queue.ts';

const newResponse = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

test('replies are written at the end of the turn, in their order, in the context of their proxy', async () => {
  const context = new AsyncLocalStorage<string>();
  const queue = context.run('proxy', () => new ReplyQueue());
  const written: unknown[] = [];
  for (const name of ['first', 'second']) {
    const response = newResponse();
    queue.take(response);
    context.run('request', () => writeSoon(response, () => written.push([name, context.getStore()])));
  }
  const atOnce = [...written];

  await nextTurn();

  expect(atOnce).toEqual([]);
  expect(written).toEqual([
    ['first', 'proxy'],
    ['second', 'proxy'],
  ]);
});

test('a reply is written at once if its connection ends, and only then', async () => {
  const queue = new ReplyQueue();
  const response = newResponse();
  queue.take(response);
  let writes = 0;
  writeSoon(response, () => (writes += 1));

  writeNow(response);
  const atOnce = writes;
  await nextTurn();

  expect([atOnce, writes]).toEqual([1, 1]);
});

test('a response that no queue takes is written at once', () => {
  let writes = 0;

  writeSoon(newResponse(), () => (writes += 1));

  expect(writes).toBe(1);
});

test('replies of one workload are written before the input of another one is processed', async () => {
  const queue = new ReplyQueue();
  const response = newResponse();
  queue.take(response);
  const happened: string[] = [];
  const process = (name: string): void =>
    new WorkloadInput().process(() => {
      happened.push(`input of ${name}`);
      return false;
    });
  process('one');
  writeSoon(response, () => happened.push('reply of one'));

  process('other');
  await nextTurn();

  expect(happened).toEqual(['input of one', 'reply of one', 'input of other']);
});

test('a reply whose write fails costs no other reply', () => {
  const raised: (() => void)[] = [];
  vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((task) => void raised.push(task));
  onTestFinished(() => void vi.restoreAllMocks());
  const queue = new ReplyQueue();
  const response = newResponse();
  queue.take(response);
  const written: string[] = [];
  writeSoon(response, () => {
    throw new Error('a mistake in a listener');
  });
  writeSoon(response, () => written.push('second'));

  queue.flush();

  expect(written).toEqual(['second']);
  expect(raised).toHaveLength(1);
  expect(raised[0]).toThrow('a mistake in a listener');
});
