import { describe, expect, test } from 'vitest';
import { onOneLine, readMessage, restate, written } from './message.ts';
import type { MalformedMessage } from './message.ts';

describe('reading', () => {
  test.each([
    ['request', '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    ['request', '{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}'],
    ['notification', '{"jsonrpc":"2.0","method":"notifications/initialized"}'],
    ['response', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['response', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}'],
  ])('tells a %s', (kind, text) => {
    expect(readMessage(text)).toMatchObject({ kind, text });
  });

  test.each([
    ['nothing', '', -32700],
    ['half of something', '{"jsonrpc":"2.0","id":1', -32700],
    ['a number', '1', -32600],
    ['null', 'null', -32600],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['an older version', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['no version', '{"id":1,"method":"ping"}', -32600],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['an id that is a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
    ['a method that is a number', '{"jsonrpc":"2.0","id":1,"method":1}', -32600],
    ['params that are text', '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', -32602],
    ['a result and an error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}', -32600],
    ['neither', '{"jsonrpc":"2.0","id":1}', -32600],
  ])('refuses %s', (_title, text, code) => {
    expect(() => readMessage(text)).toThrow(expect.objectContaining({ code }) as MalformedMessage);
  });
});

describe('restating', () => {
  test.each([
    ['at the front', '{"id":1,"jsonrpc":"2.0","method":"ping"}'],
    ['at the end', '{"jsonrpc":"2.0","result":{"id":5},"id":1}'],
    ['with white space', ' { "id" :\t1 , "jsonrpc":"2.0", "result" : { } } '],
    ['behind braces in strings', '{"jsonrpc":"2.0","result":"}\\"{[","other":"a\\\\","id":1}'],
    ['named with escapes', '{"\\u0069d":1,"jsonrpc":"2.0","result":{}}'],
    ['beside longer names', '{"idx":3,"xid":4,"id":1,"jsonrpc":"2.0","result":{}}'],
  ])('replaces an id %s and nothing else', (_title, text) => {
    expect(restate(readMessage(text), { newId: '"new"' }).text).toBe(
      text.replace(/(?<=[:\t])1(?=[, }])/, '"new"'),
    );
  });

  test('keeps numbers that JavaScript cannot hold', () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{"big":12345678901234567890,"exact":1.10,"tiny":1e-400}}';

    expect(restate(readMessage(text), { newId: '7' }).text).toBe(text.replace('"id":1', '"id":7'));
  });

  test.each([
    '{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"_meta","_meta":{"other":[1,{"progressToken":0}],"progressToken":"t"}}}',
    '{"params":{"_meta":{"progressToken":"t"},"_metadata":{"progressToken":0}},"method":"x","jsonrpc":"2.0","id":1}',
  ])('replaces id and token, whichever comes first: %s', (text) => {
    const restated = restate(readMessage(text), { newId: '12345', newToken: '67890' });

    expect(restated.text).toBe(text.replace('"id":1', '"id":12345').replace('"t"', '67890'));
    expect(restated).toEqual(readMessage(restated.text));
  });

  test.each([
    '{"jsonrpc":"2.0","id":1,"result":{},"id":2}',
    '{"jsonrpc":"2.0","id":1,"result":{},"\\u0069\\u0064":2}',
    '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1,"progressToken":2}}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}',
  ])('is refused for a message that says two things: %s', (text) => {
    expect(() => readMessage(text)).toThrow('two members');
  });

  test('agrees with JSON.parse for whatever JSON.stringify writes', () => {
    const awkward = [
      '',
      '"',
      '\\',
      '\\"',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      'id',
      '\n',
      '\u2028',
      '💥',
      'a'.repeat(100),
    ];
    for (const text of awkward) {
      for (const id of [0, -1, 1e15, text]) {
        const result = { [text]: text, id: text, list: [text, { id: 1 }, [[]], null, true, -1.5e-7] };
        const message = { [`${text}x`]: text, result, id, jsonrpc: '2.0', after: text };
        const read = readMessage(JSON.stringify(message, null, text.length % 3));

        const restated = restate(read, { newId: '"replaced"' });
        expect(JSON.parse(restated.text)).toEqual({ ...message, id: 'replaced' });
        expect(restated).toEqual(readMessage(restated.text));
        expect(JSON.parse(written(read, read.id ?? [0, 0]))).toEqual(id);
      }
    }
  });

  test('puts a message on one line without touching its strings', () => {
    expect(JSON.parse(onOneLine('{\r\n "a": "x\\ny",\n "b": 1\n}'))).toEqual({ a: 'x\ny', b: 1 });
    expect(onOneLine('{\n}')).not.toContain('\n');
  });
});
