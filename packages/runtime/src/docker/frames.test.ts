import { describe, expect, test } from 'vitest';
import { createDemultiplexer } from './frames.ts';

describe('the stream of an attached container', () => {
  test('is taken apart wherever it was cut', () => {
    const stream = Buffer.concat([
      frame(1, 'to the proxy'),
      frame(2, 'to the log'),
      frame(1, ''),
      frame(1, '!'),
    ]);

    for (let size = 1; size <= stream.length; size++) {
      const { received, receive } = collect();
      for (let at = 0; at < stream.length; at += size) receive(stream.subarray(at, at + size));

      expect(received).toEqual({ stdout: 'to the proxy!', stderr: 'to the log' });
    }
  });

  test('hands on the beginning of a frame that claims to be huge, without waiting for the rest', () => {
    const { received, receive } = collect();

    receive(header(1, 0xffff_ffff));
    receive(Buffer.from('a little'));

    expect(received.stdout).toBe('a little');
  });

  test.each([
    ['a stream that does not exist', Buffer.from([9, 0, 0, 0, 0, 0, 0, 1, 65])],
    ['padding that is not empty', Buffer.from([1, 0, 7, 0, 0, 0, 0, 1, 65])],
    ['text without frames', Buffer.from('HTTP/1.1 200 OK')],
  ])('is refused when it has %s', (_what, chunk) => {
    const { receive } = collect();

    expect(() => receive(chunk)).toThrow('the stream of the container is garbled');
  });
});

function collect() {
  const received = { stdout: '', stderr: '' };
  return { received, receive: createDemultiplexer((stream, piece) => void (received[stream] += piece)) };
}

function header(stream: number, size: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes[0] = stream;
  bytes.writeUInt32BE(size, 4);
  return bytes;
}

function frame(stream: number, text: string): Buffer {
  return Buffer.concat([header(stream, Buffer.byteLength(text)), Buffer.from(text)]);
}
