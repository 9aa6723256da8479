import { afterEach, expect, test, vi } from 'vitest';
import { callMcp } from './mcp.ts';

afterEach(() => vi.restoreAllMocks());

/** Answers the next request with an event stream that arrives in these pieces. */
function answerInPieces(pieces: (id: unknown) => string[]): void {
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (_url, options) => {
    const { id } = JSON.parse(options?.body as string) as { id: unknown }; // as `callMcp` sends it
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces(id)) controller.enqueue(new TextEncoder().encode(piece));
        controller.close();
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
}

const answer = (id: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } });
const progress = JSON.stringify({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 1, progress: 2 },
});

test.each([
  ['LF', (id: unknown) => [`data: ${progress}\n\ndata: ${answer(id)}\n\n`]],
  ['CR LF', (id: unknown) => [`data: ${progress}\r\n\r\ndata: ${answer(id)}\r\n\r\n`]],
  [
    'CR LF, with a piece that ends between them',
    (id: unknown) => [`data: ${progress}\r`, `\n\r`, `\ndata: ${answer(id)}\r\n\r`, `\n`],
  ],
  [
    'LF, with comments and the mark of an encoding',
    (id: unknown) => [`\uFEFF: hello\n\ndata: ${progress}\n\n: still here\n\ndata: ${answer(id)}\n\n`],
  ],
])('a server can end the lines of its events with %s', async (_name, pieces) => {
  const seen: number[] = [];
  answerInPieces(pieces);

  const result = await callMcp(
    { workload: 'echo' },
    { method: 'tools/call', params: { name: 'echo', arguments: {} } },
    {
      signal: new AbortController().signal,
      onProgress: ({ progress: done }) => seen.push(done),
      onLog() {},
      onInput: async () => ({}),
    },
  );

  expect(result).toEqual({ content: [] });
  expect(seen).toEqual([2]);
});
