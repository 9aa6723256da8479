import { AsyncLocalStorage } from 'node:async_hooks';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
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

test('a reply whose write fails costs no other reply', async () => {
  const queue = new ReplyQueue();
  const response = newResponse();
  queue.take(response);
  const written: string[] = [];
  const fault = new Error('a mistake in a listener');
  writeSoon(response, () => {
    throw fault;
  });
  writeSoon(response, () => written.push('second'));

  expect(() => queue.flush()).toThrow(fault);
  await nextTurn();

  expect(written).toEqual(['second']);
});
