import { afterEach, expect, test, vi } from 'vitest';
import { client } from './client.ts';
import { followEvents } from './events.ts';

const before = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = before;
  vi.unstubAllGlobals();
});

test('a page without locks, as over plain http from another machine, follows the events itself', async () => {
  vi.stubGlobal('navigator', {});
  globalThis.fetch = async () =>
    new Response('id: 7\ndata: {"type":"group.changed","at":"2026-01-31T09:30:00.000Z","name":"a"}\n\n', {
      headers: { 'content-type': 'text/event-stream' },
    });
  const seen: string[] = [];

  followEvents({
    onEvent: ({ type }) => seen.push(type),
    onConnection: (connection) => seen.push(connection),
  });

  await expect.poll(() => seen.slice(0, 4)).toEqual(['live', 'reset', 'group.changed', 'lost']);
  globalThis.fetch = () => new Promise(() => {}); // its next attempt ends with the page
});

test('a page that is signed out asks again when another tab has signed in, and does not keep asking', async () => {
  vi.stubGlobal('navigator', {});
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const tabs = new BroadcastChannel('toolhive-sign-in');
  try {
    let attempts = 0;
    globalThis.fetch = async () => {
      attempts += 1;
      return Response.json({ type: 'about:blank', title: 'Unauthorized', status: 401 }, { status: 401 });
    };
    followEvents({ onEvent() {}, onConnection() {} });
    await vi.advanceTimersByTimeAsync(50_000);
    const alone = attempts;

    tabs.postMessage('signed in');

    await vi.waitFor(() => expect(attempts).toBe(2));
    expect(alone).toBe(1);
  } finally {
    globalThis.fetch = () => new Promise(() => {}); // its next attempt ends with the page
    tabs.close();
    vi.useRealTimers();
  }
});

test('an action that waits for a daemon that hangs ends when heartbeats are missing', async () => {
  vi.stubGlobal('navigator', {});
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(':\n\n')),
    });
    globalThis.fetch = (input, init) =>
      String(input instanceof Request ? input.url : input).endsWith('/events')
        ? Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
        : new Promise((_resolve, reject) => {
            init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
          });
    followEvents({ onEvent() {}, onConnection() {} });
    const stopped = client.stopWorkloads({ body: { names: ['echo'] } });
    stopped.catch(() => {}); // awaited below

    await vi.advanceTimersByTimeAsync(60_000);

    await expect(stopped).rejects.toMatchObject({ message: 'the daemon does not respond' });
  } finally {
    vi.useRealTimers();
  }
});
