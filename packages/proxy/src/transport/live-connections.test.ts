import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { ByteBudget } from '../input/byte-budget.ts';
import { abortedBy, answerTo } from './answer.ts';
import { LiveConnections } from './live-connections.ts';
import { Pauses } from './pauses.ts';

afterEach(() => void vi.useRealTimers());

test('after a pause, requests use new connections, and open ones go on', async () => {
  const ports: number[] = [];
  const held = Promise.withResolvers<() => void>();
  const server = createServer((request, response) => {
    ports.push(request.socket.remotePort ?? 0);
    if (request.url === '/') response.end('answered');
    else held.resolve(() => response.end('at last'));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const pauses = { count: 0, watch: () => () => {} };
  const connections = new LiveConnections(() => new Agent(), pauses);
  onTestFinished(() => connections.destroy());
  const ask = (path: string): Promise<{ body: unknown }> =>
    answerTo(
      connections,
      { origin: `http://127.0.0.1:${port}`, path, method: 'POST', body: '{}' },
      { aborter: abortedBy(new AbortController().signal), budget: new ByteBudget(1024) },
    );
  const long = ask('/long');
  const release = await held.promise;
  for (let count = 0; count < 3; count += 1) await ask('/');
  const before = new Set(ports.splice(0));

  pauses.count = 1;
  await ask('/');
  release();

  expect(ports.filter((one) => before.has(one))).toEqual([]);
  expect((await long).body).toBe('at last');
});

test('a pause is noticed before and after the timers of this process, and a busy second is none', () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: 0 });
  const pauses = new Pauses();
  const unwatch = pauses.watch();
  vi.advanceTimersByTime(10_000);
  vi.setSystemTime(11_500);
  const busy = pauses.count;

  vi.setSystemTime(20_000);
  const first = [pauses.count, pauses.count];
  vi.advanceTimersByTime(5_000);
  vi.setSystemTime(60_000);
  vi.advanceTimersByTime(1_000);
  const second = pauses.count;
  vi.setSystemTime(30_000);
  const setBack = pauses.count;
  unwatch();
  vi.setSystemTime(90_000);

  expect([busy, ...first, second, setBack, pauses.count]).toEqual([0, 1, 1, 2, 2, 2]);
  expect(vi.getTimerCount()).toBe(0);
});
