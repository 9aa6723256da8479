import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { listen } from './servers.ts';

/** The status of an answer to a request target, which no HTTP client would send. */
async function statusOf(port: number, target: string): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  socket.end(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, 'close');
  return /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
}

test.each(['//', '//[', 'http://[', '/\\', '*', '/constructor', '/__proto__', '/healthz/../x'])(
  'the target %j is not found, and ends nothing',
  async (target) => {
    await using server = await listen('127.0.0.1:0', { '/healthz': async () => ({ code: 200, text: 'ok' }) });

    const status = await statusOf(server.port, target);

    expect(status).toBe('404');
    expect(await statusOf(server.port, '/healthz?verbose=1')).toBe('200');
  },
);
