import { PassThrough } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { waitFor } from '../testing/conformance.ts';
import { type Channel, type Mux, createMux } from './mux.ts';

interface Side {
  mux: Mux;
  opened: { channel: Channel; purpose: unknown }[];
  messages: [number, string][];
}

/** Two sides of one connection, and how many bytes have passed from the first to the second. */
function connect(): { one: Side; other: Side; end: () => void; passed: () => number } {
  const [there, back] = [new PassThrough(), new PassThrough()];
  let bytes = 0;
  there.on('data', (chunk: Buffer) => (bytes += chunk.length));
  const sideOf = (side: 1 | 2): Side => {
    const [opened, messages]: [Side['opened'], Side['messages']] = [[], []];
    const mux = createMux({
      input: side === 1 ? back : there,
      output: side === 1 ? there : back,
      side,
      onOpen: (channel, purpose) => void opened.push({ channel: channel.on('error', () => {}), purpose }),
      onMessage: (number, message) => void messages.push([number, message.toString()]),
    });
    return { mux, opened, messages };
  };
  return { one: sideOf(1), other: sideOf(2), end: () => void there.destroy(), passed: () => bytes };
}

const first = async ({ opened }: Side): Promise<Channel> => {
  await waitFor(() => opened.length > 0);
  const [found] = opened;
  if (found === undefined) throw new Error('nothing was opened');
  return found.channel;
};

test('streams carry bytes in both directions, and end in each on its own', async () => {
  const { one, other } = connect();
  const near = one.mux.open({ port: 80 });
  const far = await first(other);

  near.end('question');
  expect(await text(far)).toBe('question');
  far.end('answer');

  expect(await text(near)).toBe('answer');
  expect(other.opened[0]?.purpose).toEqual({ port: 80 });
  expect([near.bytesWritten, near.bytesRead]).toEqual([8, 6]);
});

test('streams of both sides are told apart', async () => {
  const { one, other } = connect();
  one.mux.open({ from: 'one' }).end('1');
  other.mux.open({ from: 'other' }).end('2');

  expect(await text(await first(other))).toBe('1');
  expect(await text(await first(one))).toBe('2');
});

test('a side that does not read gets no more than a window', async () => {
  const { one, other, passed } = connect();
  const near = one.mux.open({});
  const far = await first(other);
  const all = Buffer.alloc(2_000_000, 'x');
  near.end(all.subarray(0, 100));
  const another = one.mux.open({});
  for (let at = 0; at < all.length; at += 50_000) another.write(all.subarray(at, at + 50_000));
  another.end();
  await waitFor(() => passed() >= 64 * 1024);

  expect(passed()).toBeLessThan(128 * 1024);
  expect(await text(far)).toHaveLength(100); // which the other stream does not hold up
  await waitFor(() => other.opened.length === 2);
  expect(await buffer(other.opened[1]?.channel ?? far)).toEqual(all);
});

test('a stream that is broken off on one side breaks on the other', async () => {
  const { one, other } = connect();
  const near = one.mux.open({}).on('error', () => {});
  const far = await first(other);

  near.resetAndDestroy();

  await waitFor(() => far.destroyed);
  expect(far.errored?.message).toBe('the other side broke the connection off');
});

test('what was written arrives before a stream is closed', async () => {
  const { one, other } = connect();
  const near = one.mux.open({}).on('error', () => {});
  near.write('last words');
  near.destroySoon();
  const far = await first(other);

  expect(await new Promise((resolve) => far.once('data', (chunk: Buffer) => resolve(chunk.toString())))).toBe(
    'last words',
  );
});

test('messages have numbers', async () => {
  const { one, other } = connect();
  one.mux.send(7, Buffer.from('query'));
  other.mux.send(7, Buffer.from('answer'));

  await waitFor(() => one.messages.length > 0 && other.messages.length > 0);
  expect([other.messages, one.messages]).toEqual([[[7, 'query']], [[7, 'answer']]]);
});

test('all streams break with the connection', async () => {
  const { one, other, end } = connect();
  one.mux.open({}).on('error', () => {});
  const far = await first(other);

  end();

  await waitFor(() => far.destroyed);
  expect(far.readableEnded).toBe(false);
});

test.each([
  ['a frame that is too long', Buffer.from([0, 0, 0, 1, 1, 0xff, 0, 0, 0])],
  ['a purpose that is not JSON', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 1, 0x7b])],
])('%s ends the connection, and nothing else', async (_what, bytes) => {
  const input = new PassThrough();
  const mux = createMux({ input, output: new PassThrough(), side: 1, onOpen() {}, onMessage() {} });
  const channel = mux.open({}).on('error', () => {});

  input.write(bytes);

  await waitFor(() => channel.destroyed);
  expect(input.destroyed).toBe(true);
});
