import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { WorkloadInput } from '../input/workload-input.ts';
import { ownMessage } from '../jsonrpc/message.ts';
import { HttpSession } from './http-session.ts';

test('a page at the endpoint is not a stream of the session, and is not asked for again', async () => {
  const asked: object[] = [];
  const session = new HttpSession({
    input: new WorkloadInput(),
    post: () => Promise.reject(new Error('nothing is sent')),
    openStream: async (headers) => {
      asked.push(headers);
      const body = Readable.from([Buffer.from('<h1>Welcome</h1>')]);
      return { statusCode: 200, headers: { 'content-type': 'text/html' }, body };
    },
    listener: () => undefined,
    signal: new AbortController().signal,
    renewalMs: 1,
    acceptMs: 1,
  });
  session.begin(ownMessage({ id: 0, method: 'initialize' }), {});

  await session.listen();

  expect(asked).toEqual([{ accept: 'text/event-stream' }]);
});

test.each([
  ['notifications/initialized', true],
  ['initialize', false],
])('a server that never answers %s does not hold another session up forever', async (silent, isRenewed) => {
  const session = new HttpSession({
    input: new WorkloadInput(),
    async post({ value: { id, method } }, signal) {
      if (method === silent) await new Promise((_, fail) => signal.addEventListener('abort', fail));
      return { statusCode: 200, headers: {}, body: JSON.stringify({ jsonrpc: '2.0', id, result: {} }) };
    },
    openStream: async () => ({ statusCode: 405, headers: {}, body: '' }),
    listener: () => undefined,
    signal: new AbortController().signal,
    renewalMs: 50,
    acceptMs: 1,
  });
  session.begin(ownMessage({ id: 0, method: 'initialize' }), { 'mcp-session-id': 'one' });

  expect(await session.renew(session.current)).toBe(isRenewed);
});
