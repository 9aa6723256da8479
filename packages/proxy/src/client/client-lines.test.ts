import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { RawSession } from '../testing/test-proxy.ts';
import { openScriptedProxy } from '../testing/scripted-server.ts';
import { adaptStdio } from './stdio-adapter.ts';

/** A client that only supports stdio, which writes lines and gets lines. */
async function openClient(url: string) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const invalid: string[] = [];
  const over = new AbortController();
  const done = adaptStdio({
    input,
    output,
    url: `${url}/mcp`,
    onInvalidOutput: (line) => invalid.push(line),
    signal: over.signal,
  });
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  const client = {
    invalid,
    write: (text: string) => input.write(text),
    async next(): Promise<string> {
      const { value } = await lines.next();
      return String(value);
    },
    async [Symbol.asyncDispose]() {
      over.abort();
      await done;
    },
  };
  client.write(
    '{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18"}}\n',
  );
  await client.next();
  client.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  return client;
}

describe('a request of a stdio client gets an answer with its ID if', () => {
  const result = expect.objectContaining({ result: expect.anything() });
  const refused = (code: number): unknown =>
    expect.objectContaining({ error: expect.objectContaining({ code }) });

  test.each<[string, string, string, unknown]>([
    ['its params are null', '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":null}', '2', result],
    ['its params are an empty array', '{"jsonrpc":"2.0","id":2,"method":"ping","params":[]}', '2', result],
    ['its params are a text', '{"jsonrpc":"2.0","id":3,"method":"ping","params":"x"}', '3', refused(-32602)],
    ['its _meta is null', '{"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":null}}', '3', result],
    ['its method is a number', '{"jsonrpc":"2.0","id":4,"method":5}', '4', refused(-32600)],
    ['its method is missing', '{"jsonrpc":"2.0","id":"x","params":{}}', '"x"', refused(-32600)],
    ['its method is null', '{"jsonrpc":"2.0","id":"y","method":null}', '"y"', refused(-32600)],
    ['it is the only one in an array', '[{"jsonrpc":"2.0","id":5,"method":"ping"}]', '5', result],
    ['it begins with a byte order mark', '\uFEFF{"jsonrpc":"2.0","id":6,"method":"ping"}', '6', result],
    ['it ends with CRLF', '{"jsonrpc":"2.0","id":7,"method":"ping"}\r', '7', result],
    [
      'its ID is too large',
      '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
      '9007199254740993',
      result,
    ],
    [
      'its ID has many digits',
      '{"jsonrpc":"2.0","id":-123456789012345678901234567890,"method":"ping"}',
      '-123456789012345678901234567890',
      result,
    ],
    ['its ID is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '1.5', result],
    [
      'its ID is too large, and so is its mistake',
      '{"jsonrpc":"2.0","id":9007199254740993,"method":{}}',
      '9007199254740993',
      refused(-32600),
    ],
    ['it has no jsonrpc', '{"id":8,"method":"ping"}', '8', refused(-32600)],
    ['it names a member twice', '{"jsonrpc":"2.0","id":8,"id":9,"method":"ping"}', '9', refused(-32600)],
  ])('%s', async (_what, line, id, expected) => {
    await using server = await openScriptedProxy();
    await using client = await openClient(server.url);

    client.write(`\n\r\n  \n${line}\n`);

    const answer = await client.next();
    expect(answer).toContain(`"id":${id},`);
    expect(JSON.parse(answer)).toEqual(expected);
  });

  test('there are several in an array', async () => {
    await using server = await openScriptedProxy();
    await using client = await openClient(server.url);

    client.write('[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"2","method":"ping"}]\n');

    const answers = [JSON.parse(await client.next()), JSON.parse(await client.next())];
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([1, '2']));
  });
});

test('what is not a request of a stdio client is reported, and gets no answer', async () => {
  await using server = await openScriptedProxy();
  await using client = await openClient(server.url);
  const lines = [
    'hello',
    '{"jsonrpc":"2.0","id":1',
    '{"id":1,"result":5,"error":5}',
    '{"id":null,"method":5}',
    '5',
  ];

  client.write(`${lines.join('\n')}\n{"jsonrpc":"2.0","id":"last","method":"ping"}\n`);

  expect(JSON.parse(await client.next())).toMatchObject({ id: 'last' });
  expect(client.invalid).toEqual(lines);
});

test.each([
  ['a wrong method', '{"jsonrpc":"2.0","id":4,"method":5}', '4'],
  ['wrong params', '{"jsonrpc":"2.0","id":"a","method":"ping","params":5}', '"a"'],
  ['an ID that is too large', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', '9007199254740993'],
  ['no JSON', '{"jsonrpc":"2.0","id":4,', 'null'],
  ['no request', '{"jsonrpc":"2.0","id":4,"result":1,"error":1}', 'null'],
  ['one request in an array', '[{"jsonrpc":"2.0","id":5,"method":"ping"}]', '5'],
])('over HTTP, the error about %s names the ID of the request', async (_what, body, id) => {
  await using server = await openScriptedProxy();
  const session = await RawSession.open(server.url);

  const response = await session.postText(body);

  expect(response.status).toBe(400);
  expect(await response.text()).toContain(`"id":${id},"error"`);
});
