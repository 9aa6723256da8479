import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { ScriptedServer, openScriptedProxy } from './testing/scripted-server.ts';
import { RawSession, answerOf, openTestProxy } from './testing/test-proxy.ts';

const quick = { interval: 5 };
const never = new AbortController().signal;
const mebibyte = 1024 * 1024;
const invalid =
  'was stopped because its output contained more than 10,000 lines or events that are not JSON-RPC messages';

/** The longest time in which the event loop did nothing else, until `isOver` says so. */
async function longestBlockMs(isOver: () => boolean): Promise<number> {
  let longestMs = 0;
  while (!isOver()) {
    const startedMs = performance.now();
    await new Promise(setImmediate);
    longestMs = Math.max(longestMs, performance.now() - startedMs);
  }
  return longestMs;
}

describe('a server that writes what is not a message', () => {
  test.each([
    ['short lines', 'x\n'.repeat(mebibyte)],
    ['objects that are not messages', '{}\n'.repeat(mebibyte)],
    ['long lines', `${'x'.repeat(mebibyte)}\n`.repeat(20)],
  ])('without end, %s, is stopped with the reason, and others are served', async (_title, flood) => {
    await using other = await openScriptedProxy();
    await using test = await openScriptedProxy({ sessions: 'shared' });
    const session = await RawSession.open(other.url);
    const pending = (await RawSession.open(test.url)).postCall(1, 'hold');
    await expect.poll(() => test.servers[0]?.last('tools/call'), quick).toBeDefined();

    test.servers[0]?.write(Buffer.from(flood));
    const blockMs = await longestBlockMs(() => test.excesses.length > 0);

    expect(test.excesses[0]).toMatch(
      /^was stopped because its output contained more than (10,000|16 MiB of) lines/,
    );
    expect((await answerOf(await pending)).error?.message).toContain('was stopped because');
    expect(await session.call('instance')).toBe('s1');
    expect(blockMs).toBeLessThan(1_000); // once, all of it took seconds
    expect(test.invalidOutput.length).toBeLessThan(20_000);
  });

  test('in a process of one session costs that session its process, and others nothing', async () => {
    await using test = await openScriptedProxy();
    const [one, two] = [await RawSession.open(test.url), await RawSession.open(test.url)];
    const [first, second] = [await test.serverOf(one), await test.serverOf(two)];

    first.write('x\n'.repeat(20_000));
    await expect.poll(() => first.isRunning, quick).toBe(false);

    expect(await test.serverOf(two)).toBe(second);
    expect(test.excesses).toEqual([]);
    expect((await test.serverOf(one)).isRunning).toBe(true);
  });

  test('before its first answer is not waited for', async () => {
    await using test = await openTestProxy();
    const server = new ScriptedServer('loud', {
      'server/discover': (self) => self.write('x\n'.repeat(20_000)),
    });

    const connected = test.proxy.connect(server, async () => server, never);

    await expect(connected).rejects.toThrow(`the server ${invalid}`);
  });

  test('now and then is not stopped', async () => {
    await using test = await openScriptedProxy({ sessions: 'shared' });

    test.servers[0]?.write('x\n'.repeat(9_000));
    await expect.poll(() => test.invalidOutput.length, quick).toBe(9_000);

    expect(test.excesses).toEqual([]);
  });
});

describe('a server that never completes what it sends', () => {
  test('is stopped before its processes use all memory', async () => {
    await using test = await openScriptedProxy();
    const sessions = await Promise.all(Array.from({ length: 4 }, () => RawSession.open(test.url)));
    const servers = await Promise.all(sessions.map((session) => test.serverOf(session)));

    for (const server of servers) server.write(Buffer.alloc(15 * mebibyte, 'x'));

    await expect.poll(() => servers.filter(({ isRunning }) => isRunning).length, quick).toBe(2);
  });

  test('gives its memory back when it ends', async () => {
    await using test = await openScriptedProxy();
    for (let round = 0; round < 4; round++) {
      const session = await RawSession.open(test.url);
      const server = await test.serverOf(session);
      server.write(Buffer.alloc(15 * mebibyte, 'x'));
      await expect.poll(() => server.stdio.output.readableLength, quick).toBe(0);
      await session.end();
      await expect.poll(() => server.isRunning, quick).toBe(false);
    }

    expect(test.excesses).toEqual([]);
    expect(await (await RawSession.open(test.url)).call('recall')).toBe('');
  });
});

describe('a message that is expensive to parse', () => {
  const flat = '[],'.repeat(5 * mebibyte);

  test.each([
    ['', '1]}}}'],
    [', also before a text without an end', '"'],
  ])('is refused to a client%s', async (_what, end) => {
    await using test = await openScriptedProxy();

    const response = await new RawSession(test.url).postText(
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"x":[${flat}${end}`,
    );

    expect(response.status).toBe(400);
    expect(await response.text()).toContain('more than 100000 objects, arrays, and members');
  });

  test('is not taken from a server, and the waiting client is told', async () => {
    await using test = await openScriptedProxy({ sessions: 'shared' });
    const pending = (await RawSession.open(test.url)).postCall(1, 'hold');
    await expect.poll(() => test.servers[0]?.last('tools/call'), quick).toBeDefined();
    const { id } = test.servers[0]?.last('tools/call') ?? {};

    test.servers[0]?.write(`{"jsonrpc":"2.0","id":${id},"result":{"x":[${flat}1]}}\n`);

    expect((await answerOf(await pending)).error?.message).toContain('more than 100000 objects');
  });
});

describe('a server that speaks HTTP', () => {
  type Answering = (request: IncomingMessage, response: ServerResponse) => void;

  const openRemote = (answer: Answering) =>
    openRemoteServer(({ id, method }, request, response) => {
      const json = { 'content-type': 'application/json' };
      const said =
        method === 'initialize'
          ? { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: {} } }
          : { error: { code: -32601, message: 'unknown' } };
      if (method === 'tools/call') answer(request, response);
      else if (id === undefined) response.writeHead(202).end();
      else response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, ...said }));
    });

  type TransportListener = (
    message: { id?: number; method: string },
    request: IncomingMessage,
    response: ServerResponse,
  ) => void;

  async function openRemoteServer(hear: TransportListener) {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.method === 'POST') hear(JSON.parse(Buffer.concat(chunks).toString()), request, response);
        else response.writeHead(405).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const test = await openTestProxy({ transport: 'streamable-http', sessions: 'shared' });
    const address = { kind: 'remote', url, headers: async () => ({}), refused: async () => false } as const;
    await test.proxy.connect({ address }, () => Promise.reject(new Error('there is one')), never);
    return {
      ...test,
      async [Symbol.asyncDispose]() {
        await test[Symbol.asyncDispose]();
        server.closeAllConnections();
        server.close();
      },
    };
  }

  /** Writes until the other side ends the connection. */
  async function writeForEver(response: ServerResponse, piece: string): Promise<void> {
    let proceed = (): void => {};
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of ['error', 'close', 'drain']) response.on(event, () => proceed());
    while (!response.destroyed) {
      const isTaken = response.write(piece);
      await new Promise<void>((resolve) => {
        proceed = resolve;
        if (isTaken) setImmediate(resolve);
      });
    }
  }

  test.each([
    ['events that are not messages', 'data: x\n\n'.repeat(5_000), invalid, [invalid]],
    ['an event', `data: ${'x'.repeat(100_000)}\n`, 'an event that is larger than 16 MiB', []],
  ])('and sends %s without end is not heard any more', async (_title, piece, reason, excesses) => {
    await using test = await openRemote((_request, response) => void writeForEver(response, piece));
    const session = await RawSession.open(test.url);

    let isAnswered = false;
    const asked = session.postCall(1, 'hold').finally(() => (isAnswered = true));
    const blockMs = await longestBlockMs(() => isAnswered);

    const { error } = await answerOf(await asked);
    expect(error?.message).toContain(reason);
    expect(test.excesses).toEqual(excesses);
    expect(blockMs).toBeLessThan(1_000);
  });
});

describe('clients that never complete their requests', () => {
  const head = (path: string, length: number): string =>
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

  /** Sends most of a body, and gives what is answered. */
  function begin(url: string, bytes: number): { socket: Socket; answered: () => string } {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', () => {});
    socket.write(head('/mcp', bytes + 1));
    socket.write(Buffer.alloc(bytes, ' '));
    return { socket, answered: () => text };
  }

  test('are refused when they use too much memory, and small requests are answered', async () => {
    await using test = await openScriptedProxy();
    const session = await RawSession.open(test.url);

    const begun = Array.from({ length: 6 }, () => begin(test.url, 15 * mebibyte));
    await expect.poll(() => begun.filter(({ answered }) => answered() !== '').length, quick).toBe(4);

    const refused = begun.map(({ answered }) => answered()).filter((text) => text !== '');
    expect(refused[0]).toMatch(/^HTTP\/1\.1 503 [^]*incomplete requests use all the memory/);
    expect(await session.call('recall')).toBe('');
    for (const { socket } of begun) socket.destroy();
  });

  test('give the memory back when their connections end', async () => {
    await using test = await openScriptedProxy();

    for (let round = 0; round < 4; round++) {
      const { socket, answered } = begin(test.url, 15 * mebibyte);
      await expect.poll(() => socket.writableLength, quick).toBe(0);
      socket.destroy();
      expect(answered()).toBe('');
    }

    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'ping',
      params: { x: 'x'.repeat(mebibyte) },
    });
    await expect.poll(async () => (await new RawSession(test.url).postText(body)).status, quick).toBe(200);
  });
});
