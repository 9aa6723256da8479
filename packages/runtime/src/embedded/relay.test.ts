import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { type Channel, createMux } from '../egress/mux.ts';
import { testPort } from '@toolhive/testing/port';
import { waitFor } from '../testing/conformance.ts';
import { ask, openEcho, startEmbedded } from '../testing/embedded.ts';

/** A loopback address at which nothing else resolves names. */
const resolver = '127.53.7.1';

/** Starts the program with the other side of its streams, and waits until it listens. */
async function startRelay(ports: readonly number[]) {
  const program = startEmbedded('relay.ts', [ports.join(), resolver], ['pipe', 'pipe', 'inherit']);
  const { stdin, stdout } = program.child;
  if (stdin === null || stdout === null) throw new Error('its streams are pipes');
  const opened: { channel: Channel; purpose: unknown }[] = [];
  const messages: [number: number, text: string][] = [];
  const mux = createMux({
    input: stdout,
    output: stdin,
    side: 2,
    onOpen: (channel, purpose) => void opened.push({ channel: channel.on('error', () => {}), purpose }),
    onMessage: (number, message) => void messages.push([number, message.toString()]),
  });
  await waitFor(() => messages.length > 0);
  return { program, mux, opened, messages, [Symbol.asyncDispose]: () => program[Symbol.asyncDispose]() };
}

describe.runIf(process.getuid?.() === 0)('the relay program (as root, for the port of name servers)', () => {
  test('connections arrive with the address that they were for, and end in each direction separately', async () => {
    const port = await testPort();
    await using relay = await startRelay([port]);

    const answer = ask({ host: '127.3.2.1', port }, 'question');
    const { channel, purpose } = await waitFor(() => relay.opened[0]);
    const received = await text(channel);
    channel.end('answer');

    expect(relay.messages).toEqual([[0, 'ready']]);
    expect(purpose).toEqual({ address: '127.3.2.1', port });
    expect([received, await answer]).toEqual(['question', 'answer']);
  });

  test('a connection of the daemon reaches a port of the server, and breaks if nothing listens', async () => {
    using server = await openEcho('heard');
    await using relay = await startRelay([await testPort()]);

    const reached = relay.mux.open({ port: server.port });
    reached.end('question');
    const refused = relay.mux.open({ port: await testPort() }).on('error', () => {});

    expect(await text(reached)).toBe('heard question');
    await waitFor(() => refused.destroyed);
  });

  test('each answer to a lookup goes to the client that asked, and longer lookups are dropped', async () => {
    await using relay = await startRelay([await testPort()]);
    const clients = [createSocket('udp4'), createSocket('udp4')];
    const answers = clients.map(async (client) => String((await once(client, 'message'))[0]));

    clients[0]?.send(Buffer.alloc(4097), 53, resolver);
    clients[0]?.send('one', 53, resolver);
    clients[1]?.send('two', 53, resolver);
    await waitFor(() => relay.messages.length === 3);
    for (const [number, query] of relay.messages.slice(1)) relay.mux.send(number, Buffer.from(`${query}!`));

    expect(await Promise.all(answers)).toEqual(['one!', 'two!']);
    for (const client of clients) client.close();
  });

  test('a port that is in use is reported', async () => {
    using other = await openEcho('other');

    await using relay = await startRelay([other.port]);

    expect(relay.messages).toEqual([[0, expect.stringContaining('EADDRINUSE')]]);
  });

  test('the program ends with the daemon, whose end closes its standard input', async () => {
    await using relay = await startRelay([await testPort()]);

    relay.program.child.stdin?.end();

    expect(await relay.program.exited).toEqual([0, null]);
  });
});
