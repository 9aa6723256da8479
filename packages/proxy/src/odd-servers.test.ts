import { describe, expect, test } from 'vitest';
import { ScriptedServer } from './testing/scripted-server.ts';
import type { Said } from './testing/scripted-server.ts';
import { RawSession, openTestProxy } from './testing/test-proxy.ts';

const never = new AbortController().signal;

/** A proxy in front of a stdio server that writes each of its messages in its own way. */
async function openOdd(write: (message: Said, isFirst: boolean) => string) {
  const deviations: string[] = [];
  const test = await openTestProxy({
    sessions: 'shared',
    onTolerance: (deviation) => deviations.push(deviation),
  });
  class OddServer extends ScriptedServer {
    #isFirst = true;
    override send(message: object): void {
      this.write(write({ ...message }, this.#isFirst));
      this.#isFirst = false;
    }
  }
  const server = new OddServer('odd');
  const connected = test.proxy.connect(server, async () => new OddServer('own'), never);
  return { ...test, server, connected, deviations };
}

const line = (message: object): string => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const bare = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message });
/** As servers of the Language Server Protocol write. */
const withLength = (message: object): string => {
  const text = bare(message);
  return `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
};

describe('a server is understood that writes', () => {
  test.each<[string, (message: Said, isFirst: boolean) => string, string]>([
    ['a byte order mark first', (all, isFirst) => (isFirst ? '\uFEFF' : '') + line(all), 'byte order marks'],
    ['a byte order mark before each message', (all) => `\uFEFF${line(all)}`, 'byte order marks'],
    ['a byte order mark after each message', (all) => `${bare(all)}\uFEFF\n`, 'byte order marks'],
    ['sequences that hide the cursor', (all) => `\x1b[?25l${bare(all)}\x1b[?25h\n`, 'control sequences'],
    ['colors', (all) => `\x1b[32;1m${bare(all)}\x1b[0m\n`, 'control sequences'],
    ['the title of a window', (all) => `\x1b]0;my server\x07${line(all)}`, 'control sequences'],
    ['a hyperlink', (all) => `\x1b]8;;http://a.example\x1b\\${line(all)}`, 'control sequences'],
    ['a bell and zero bytes', (all) => `\x07\0${bare(all)}\0\n`, 'control sequences'],
    [
      'text before its first message',
      (all, isFirst) => (isFirst ? 'Server ready. ' : '') + line(all),
      'text',
    ],
    ['text with brackets before messages', (all) => `[INFO] {server} ready: ${line(all)}`, 'other text'],
    ['text after messages', (all) => `${bare(all)} -- sent\n`, 'other text'],
    ['a prompt before each message', (all) => `> ${line(all)}`, 'other text'],
    ['its log as JSON on the same line', (all) => `{"level":"info","id":1} ${line(all)}`, 'other text'],
    ['messages in an array', (all) => `[${bare(all)}]\n`, 'in an array'],
    [
      'messages in an array with others',
      (all) => `[${bare({ method: 'notifications/x' })}, ${bare(all)}]\n`,
      'in an array',
    ],
    [
      'two messages on one line',
      (all) => bare({ method: 'notifications/x' }) + line(all),
      'several messages',
    ],
    ['error: null beside a result', (all) => line({ ...all, error: null }), 'null'],
    ['error: "" beside a result', (all) => line({ ...all, error: '' }), 'null'],
    ['error: false beside a result', (all) => line({ ...all, error: false }), 'null'],
    ['method and params: null in an answer', (all) => line({ ...all, method: null, params: null }), 'null'],
    ['IDs as text', (all) => line({ ...all, id: String(all.id) }), 'as text'],
    [
      'messages on several lines',
      (all) => `${JSON.stringify({ jsonrpc: '2.0', ...all }, null, 2)}\r\n`,
      'on several lines',
    ],
    ['messages without line breaks', bare, 'line breaks'],
    ['messages with their length instead of line breaks', withLength, 'line breaks'],
    ['no jsonrpc', (all) => `${JSON.stringify(all)}\n`, 'does not write'],
    ['another jsonrpc', (all) => line({ ...all, jsonrpc: '1.0' }), 'does not write'],
    ['jsonrpc as a number', (all) => line({ ...all, jsonrpc: 2.0 }), 'does not write'],
  ])('%s, and its deviation is reported once', async (_what, write, deviation) => {
    await using odd = await openOdd(write);
    await odd.connected;
    const session = await RawSession.open(odd.url);

    expect(await session.call('instance')).toBe('odd');
    expect(await session.call('instance')).toBe('odd');

    expect(odd.deviations.filter((one) => one.includes(deviation))).toHaveLength(1);
    expect(odd.proxy.deviations).toEqual(odd.deviations);
  });

  test.each<[string, (message: Said) => string]>([
    ['result: null beside it', (all) => line({ ...all, result: null })],
    ['the error as text', (all) => line({ id: all.id, error: 'no such thing' })],
    ['carriage returns', (all) => `\r${bare(all)}\r\r\n`],
  ])('an error with %s', async (_what, write) => {
    await using odd = await openOdd((all) => (all.error === undefined ? line(all) : write(all)));
    odd.server.manners['tools/call'] = (server, { id }) =>
      server.send({ id, error: { code: -32000, message: 'no such thing' } });
    await odd.connected;

    await expect((await RawSession.open(odd.url)).call('any')).rejects.toThrow('no such thing');
  });

  test('a brace on a line of its own before each message', async () => {
    await using odd = await openOdd((all) => `{\n${bare({ result: all.result, ...all })}\n`);
    await odd.connected;

    expect(await (await RawSession.open(odd.url)).call('instance')).toBe('odd');
  });

  test('a notification with null members, and the client gets it without them', async () => {
    await using odd = await openOdd(line);
    await odd.connected;
    const session = await RawSession.open(odd.url);
    await using stream = await session.listen();

    odd.server.write(
      '{"id":null,"method":"notifications/tools/list_changed","jsonrpc":"2.0","params":null,"error":null}\n',
    );

    const { value } = await stream.next();
    expect(value).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  });

  test('numbers beyond 2^53 in a message with a byte order mark, which stay as they are', async () => {
    await using odd = await openOdd((all) => `\uFEFF${line(all)}`);
    odd.server.manners['tools/call'] = (server, { id }) =>
      server.write(`\uFEFF{"jsonrpc":"2.0","error":null,"id":${id},"result":{"n":12345678901234567890}}\n`);
    await odd.connected;

    const response = await (await RawSession.open(odd.url)).postCall(1, 'any');

    expect(await response.text()).toContain('"n":12345678901234567890');
  });
});

describe('a result is understood', () => {
  const text = (written: string) => `{"content":[{"type":"text","text":"${written}"}]}`;

  test.each<[string, string, string]>([
    ['NaN', '{"n":NaN,"t":"NaN"}', '{"n":null,"t":"NaN"}'],
    ['Infinity', '{"n":[-Infinity,Infinity]}', '{"n":[null,null]}'],
    ['a tab', text('a\tb'), text(String.raw`a\u0009b`)],
    ['a zero byte and a carriage return', text('a\0b\rc'), text(String.raw`a\u0000b\u000dc`)],
    ['a tab behind a quote', text(String.raw`a\"` + '\tb'), text(String.raw`a\"\u0009b`)],
  ])('with %s, and reported', async (_what, written, read) => {
    await using odd = await openOdd(line);
    odd.server.manners['tools/call'] = (server, { id }) =>
      server.write(`{"jsonrpc":"2.0","id":${id},"result":${written}}\n`);
    await odd.connected;

    const response = await (await RawSession.open(odd.url)).postCall(1, 'any');

    expect(await response.text()).toContain(read);
    expect(odd.deviations).toEqual([expect.stringContaining('NaN, Infinity, or control characters')]);
  });
});

describe('a call ends with the fault of the server, which', () => {
  const whole = (id: unknown): string => bare({ id, result: { content: [{ type: 'text', text: 'a' }] } });

  test.each<[string, (id: unknown) => string | Buffer, string]>([
    ['writes UTF-16', (id) => Buffer.from(`${whole(id)}\n`, 'utf16le'), 'UTF-16 instead of UTF-8'],
    [
      'writes UTF-16 with a byte order mark',
      (id) => Buffer.from(`\uFEFF${whole(id)}\n`, 'utf16le'),
      'UTF-16 instead of UTF-8',
    ],
    ['writes objects of Python', (id) => `${whole(id).replaceAll('"', "'")}\n`, 'is not JSON'],
    ['writes the ID last', (id) => `{"result":{"path":"C:\\Users"},"id":${String(id)}}\n`, 'is not JSON'],
  ])('%s', async (_what, write, fault) => {
    await using odd = await openOdd(line);
    odd.server.manners['tools/call'] = (server, { id }) => server.write(write(id));
    await odd.connected;

    await expect((await RawSession.open(odd.url)).call('any')).rejects.toThrow(fault);
  });
});

test('lines between a brace and a message are no part of the message', async () => {
  await using odd = await openOdd((all, isFirst) => (isFirst ? '' : '{\n"level": "info",\n') + line(all));
  await odd.connected;

  expect(await (await RawSession.open(odd.url)).call('instance')).toBe('odd');

  expect(odd.invalidOutput).toContain('"level": "info",');
});

describe('a server is not believed that', () => {
  test.each<[string, (id: number) => string]>([
    ['quotes a message in a sentence', (id) => `sent ${bare({ id, result: { wrong: 1 } })} to the client\n`],
    [
      'answers with a result and an error',
      (id) => line({ id, result: {}, error: { code: 1, message: 'a' } }),
    ],
    ['names the ID twice', (id) => `\uFEFF{"jsonrpc":"2.0","id":${id},"result":{"wrong":1},"id":${id}}\n`],
    ['writes something else with the ID', (id) => `{"id":${id},"result":"ok","level":"info"}\n`],
  ])('%s', async (_what, write) => {
    await using odd = await openOdd(line);
    odd.server.manners['tools/call'] = (server, { id }) => {
      server.write(write(Number(id)));
      server.send({ id, result: { right: 1 } });
    };
    await odd.connected;

    const text = await (await (await RawSession.open(odd.url)).postCall(1, 'any')).text();

    expect(text).not.toContain('wrong');
  });

  test('writes requests and notifications behind other text, which may be a quotation', async () => {
    await using odd = await openOdd(line);
    await odd.connected;
    const session = await RawSession.open(odd.url);
    await using stream = await session.listen();

    odd.server.write(`received ${bare({ id: 9, method: 'roots/list' })}\n`);
    odd.server.write(`received ${bare({ method: 'notifications/tools/list_changed' })}\n`);
    odd.server.send({ method: 'notifications/prompts/list_changed' });

    const { value } = await stream.next();
    expect(value).toMatchObject({ method: 'notifications/prompts/list_changed' });
    expect(odd.server.heard.filter(({ id }) => id === 9)).toEqual([]);
    expect(odd.invalidOutput).toHaveLength(2);
  });
});
