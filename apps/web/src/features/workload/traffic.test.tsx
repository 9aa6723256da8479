import type { TrafficEntry } from '@toolhive/contract/traffic';
import { afterEach, expect, test, vi } from 'vitest';
import { render } from 'vitest-browser-react';
import { Route, Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { Traffic } from './traffic.tsx';

afterEach(() => vi.restoreAllMocks());

const entry = (id: number): TrafficEntry => ({
  id,
  at: new Date(1_800_000_000_000 + id).toISOString(),
  direction: 'to-server',
  source: 'client',
  method: 'tools/call',
  name: `tool-${id}`,
  outcome: 'ok',
  has_bodies: false,
  is_own_read: false,
});

test('calls that a stream has dropped during a flood are read together, while the stream is followed', async () => {
  let lists = 0;
  let newest = 1;
  const stream = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const say = async (event: object): Promise<void> =>
    (await stream.promise).enqueue(new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (url) => {
    const { pathname } = new URL(url as string, location.href);
    if (pathname.endsWith('/traffic/events'))
      return new Response(new ReadableStream({ start: stream.resolve }), {
        headers: { 'content-type': 'text/event-stream' },
      });
    if (!pathname.endsWith('/traffic'))
      return Response.json({
        workloads: [{ name: 'busy', status: 'running', group: 'default', package: '', labels: {} }],
        features: [],
      });
    lists += 1;
    return Response.json({
      entries: Array.from({ length: newest }, (_, index) => entry(index + 1)),
      is_read: true,
      recording: { bodies: false, max_body_bytes: 1, max_total_bytes: 1 },
    });
  });
  const { hook } = memoryLocation({ path: '/w/busy/traffic' });
  const screen = await render(
    <Router hook={hook}>
      <Route path="/w/:name/traffic" component={Traffic} />
    </Router>,
  );
  const status = screen.getByText(/^\d+ calls?$/);
  await expect.element(status).toHaveTextContent('1 call');
  await expect.poll(() => lists).toBe(2); // for the page, and for the stream

  newest = 20;
  for (let id = 11; id <= 20; id++) {
    await say({ type: 'reset' });
    await say({ type: 'entry', entry: entry(id) });
  }

  await expect.element(status).toHaveTextContent('11 calls');
  await expect.element(status).toHaveTextContent('20 calls'); // those without an event, too
  expect(lists).toBe(3);
  expect(screen.container.textContent).toContain('tool-5');
});
