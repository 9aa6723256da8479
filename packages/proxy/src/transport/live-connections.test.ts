import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { ByteBudget } from '../input/byte-budget.ts';
import { abortedBy, answerTo } from './answer.ts';
import { LiveConnections } from './live-connections.ts';
import { Pauses } from './pauses.ts';

afterEach(() => void vi.useRealTimers());

/** A server that answers `/long` only when it is told, and keeps the ports of its clients. */
async function serve() {
  const ports: number[] = [];
  const { promise: held, resolve: hold } = Promise.withResolvers<() => void>();
  const server = createServer((request, response) => {
    ports.push(request.socket.remotePort ?? 0);
    if (request.url === '/') response.end('answered');
    else hold(() => response.end('at last'));
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ports, held };
}

function connect(origin: string, isElsewhere: boolean) {
  vi.useFakeTimers({ toFake: ['Date'], now: 0 });
  const connections = new LiveConnections(() => new Agent(), { isElsewhere, pauses: new Pauses() });
  onTestFinished(() => connections.destroy());
  const ask = async (path: string): Promise<unknown> => {
    const { body } = await answerTo(
      connections,
      { origin, path, method: 'POST', body: '{}' },
      { aborter: abortedBy(new AbortController().signal), budget: new ByteBudget(1024) },
    );
    return body;
  };
  return { connections, ask };
}

test.each([
  ['a short pause', true, 10_000],
  ['a long pause, if the server is on this machine', false, 3_600_000],
])('after %s, requests use new connections, and open ones go on', async (_what, isElsewhere, pauseMs) => {
  const { origin, ports, held } = await serve();
  const { ask } = connect(origin, isElsewhere);
  const long = ask('/long');
  const release = await held;
  for (let count = 0; count < 3; count += 1) await ask('/');
  const before = new Set(ports.splice(0));

  vi.setSystemTime(pauseMs);
  await ask('/');
  release();

  expect(ports.filter((one) => before.has(one))).toEqual([]);
  expect(await long).toBe('at last');
});

test('the end of the connections ends requests from before a pause, too', async () => {
  const { origin, held } = await serve();
  const { connections, ask } = connect(origin, false);
  const long = ask('/long');
  await held;
  vi.setSystemTime(10_000);
  await ask('/');

  const [ended] = await Promise.allSettled([long, connections.destroy()]);

  expect(ended).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringContaining('destroyed') },
  });
});

test('after a long pause, open requests to a server elsewhere fail with the reason', async () => {
  const { origin, held } = await serve();
  const { ask } = connect(origin, true);
  const long = ask('/long');
  await held;

  vi.setSystemTime(3_600_000);
  const [ended, next] = await Promise.allSettled([long, ask('/')]);

  expect(ended).toMatchObject({
    reason: { message: 'the connection was lost while this machine slept for 60 minutes' },
  });
  expect(next).toMatchObject({ value: 'answered' });
});

test('a pause is noticed before and after the timers of this process, and a busy second is none', () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: 0 });
  const pauses = new Pauses();
  const noticed: number[] = [];
  const unwatch = pauses.watch((durationMs) => noticed.push(durationMs));
  vi.advanceTimersByTime(10_000);
  vi.setSystemTime(11_500);
  pauses.look();

  vi.setSystemTime(20_000);
  pauses.look();
  pauses.look();
  vi.advanceTimersByTime(5_000);
  vi.setSystemTime(60_000);
  vi.advanceTimersByTime(1_000);
  vi.setSystemTime(30_000); // set back
  pauses.look();
  unwatch();
  vi.setSystemTime(90_000);
  pauses.look();

  expect(noticed).toEqual([8_500, 36_000]);
  expect(vi.getTimerCount()).toBe(0);
});
