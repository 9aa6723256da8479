import { afterEach, expect, test, vi } from 'vitest';
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
