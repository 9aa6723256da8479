import { afterEach, expect, test, vi } from 'vitest';
import { callMcp } from './mcp.ts';
import { client } from './client.ts';

const before = globalThis.fetch;
afterEach(() => void (globalThis.fetch = before));

/** Answers with the beginning of a body, and then loses the connection. */
function loseAfter(text: string, type: string): void {
  globalThis.fetch = vi.fn<typeof fetch>(async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
      pull: (controller) => controller.error(new TypeError('network error')),
    });
    return new Response(body, { headers: { 'content-type': type } });
  });
}

const call = (): Promise<unknown> =>
  callMcp(
    { workload: 'echo' },
    { method: 'tools/call', params: { name: 'slow' } },
    { signal: new AbortController().signal, onProgress() {}, onLog() {}, onInput: async () => ({}) },
  );

test('an action whose answer is cut off ends with advice, and is not sent again', async () => {
  loseAfter('{"progress":"installing"}\n', 'application/x-ndjson');

  const created = client.createWorkload({ body: { image: 'x' } }, { onProgress() {} });

  await expect(created).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'the connection to the daemon was lost before it answered',
  });
  expect(globalThis.fetch).toHaveBeenCalledTimes(1);
});

test('a call of a tool whose stream is cut off ends, and is not sent again', async () => {
  loseAfter('event: message\ndata: {"method":"notifications/message","params":{}}\n\n', 'text/event-stream');

  await expect(call()).rejects.toMatchObject({
    message: 'the connection to the daemon was lost before it answered',
  });
  expect(globalThis.fetch).toHaveBeenCalledTimes(1);
});

test('a call of a tool that reaches no daemon says so', async () => {
  globalThis.fetch = () => Promise.reject(new TypeError('Failed to fetch'));

  await expect(call()).rejects.toMatchObject({ kind: 'unavailable', message: 'the daemon does not respond' });
});
