import { describe, expect, test } from 'vitest';
import type { EndedCall } from '../middleware/traffic.ts';
import { openScriptedProxy } from '../testing/scripted-server.ts';
import { RawSession } from '../testing/test-proxy.ts';
import { MalformedMessage, readMessage, restate, withResult } from './message.ts';
import type { Message } from './message.ts';
import { digestOf, oncePerAnswer, readAnswer } from './repeated-answers.ts';

const tools = (count: number, prefix = 'tool'): object => ({
  tools: Array.from({ length: count }, (_, at) => ({
    name: `${prefix}-${at}`,
    description: 'Says "hello" to {everyone}.'.repeat(4),
  })),
});

/** The forms in which the SDKs write answers. */
const forms = {
  'with the ID first': (id: number, result: object) =>
    `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`,
  'with the ID last': (id: number, result: object) =>
    `{"result":${JSON.stringify(result)},"jsonrpc":"2.0","id":${id}}`,
};
const read = (text: string): Message => readAnswer(text, () => true);
/** What counts for everyone who gets the message. */
const contentOf = ({ kind, text, value, id }: Message): object => ({ kind, text, value, id });

describe.each(Object.entries(forms))('an answer %s', (_name, written) => {
  test('is read once, as long as only its ID changes', () => {
    const first = read(written(7, tools(200)));
    const second = read(written(1_234, tools(200)));

    expect(contentOf(second)).toEqual(contentOf(readMessage(written(1_234, tools(200)))));
    expect(second.value.result).toBe(first.value.result);
    expect(digestOf(second)).toBe(digestOf(readMessage(written(5, tools(200)))));
  });

  test('with an ID that is no number in JSON is refused, also after it was read with another one', () => {
    read(written(1, tools(205)));

    expect(() => read(written(1, tools(205)).replace('"id":1', '"id":01'))).toThrow(MalformedMessage);
  });

  test('is read again after a change', () => {
    read(written(1, tools(200)));
    const changed = read(written(2, tools(200, 'tooL')));

    expect(contentOf(changed)).toEqual(contentOf(readMessage(written(2, tools(200, 'tooL')))));
  });

  test('is changed once for all requests, and has the ID of each', () => {
    let calls = 0;
    const shorter = oncePerAnswer((answer) => {
      calls++;
      const at = answer.text.indexOf('"tools":');
      const members = { more: 1, tools: [] };
      return withResult(answer, members, { span: [at, at], replacement: '"more":1,' });
    });
    const texts = [11, 222_222].map((id) => {
      const answer = shorter(restate(read(written(3, tools(201))), { newId: String(id) }));
      expect(answer.text.slice(...(answer.id ?? [0, 0]))).toBe(String(id));
      return JSON.stringify({ ...readMessage(answer.text).value, id: 0 });
    });

    expect(calls).toBe(1);
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]).toContain('"more":');
  });

  test('cannot be changed by anyone who shares it', () => {
    const { result } = read(written(1, tools(202))).value as { result: { tools: { name: string }[] } };

    expect(() => result.tools.push({ name: 'added' })).toThrow(TypeError);
    expect(() => Object.assign(result.tools[0] ?? {}, { name: 'renamed' })).toThrow(TypeError);
  });

  test('that changed on its way is not taken for the one of the server', () => {
    const answer = read(written(1, tools(203)));
    const at = answer.text.indexOf('"tools":');
    const changed = withResult(answer, { tools: [] }, { span: [at, at], replacement: '"more":1,' });

    expect(changed.repeated).toBeUndefined();
    expect(digestOf(changed)).not.toBe(digestOf(answer));
  });
});

test.each([
  [
    'a second ID',
    (id: number) => `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(tools(100))},"id":1}`,
  ],
  [
    'an error beside it',
    (id: number) => `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(tools(100))},"error":{}}`,
  ],
  [
    'an end that is missing',
    (id: number) => `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(tools(100))}`,
  ],
])('an answer with %s is refused each time', (_what, written) => {
  for (const id of [1, 2]) expect(() => read(written(id))).toThrow(MalformedMessage);
});

test('a request that looks like an answer is not one', () => {
  const text = (id: number): string =>
    `{"method":"ping","params":${JSON.stringify(tools(100))},"jsonrpc":"2.0","id":${id}}`;

  for (const id of [1, 2]) expect(contentOf(read(text(id)))).toEqual(contentOf(readMessage(text(id))));
});

test('the same text with another ID in the middle of a name is another answer', () => {
  const one = forms['with the ID last'](1, { ...tools(100), note: ',"jsonrpc":"2.0","id":1}' });
  const other = forms['with the ID last'](1, { ...tools(100), note: ',"jsonrpc":"2.0","id":2}' });

  expect(read(one).value.result).not.toEqual(read(other).value.result);
});

test('many different answers leave room for others', () => {
  const known = read(forms['with the ID first'](1, tools(300, 'first'))).value.result;
  for (let at = 0; at < 200; at++) read(forms['with the ID first'](at, tools(100, `flood-${at}`)));
  const again = read(forms['with the ID first'](2, tools(300, 'first'))).value.result;

  expect(again).toEqual(known);
  expect(again).not.toBe(known);
});

test('an answer that is not repeated is not kept', () => {
  const text = forms['with the ID first'](1, tools(204));

  expect(readAnswer(text, () => false).repeated).toBeUndefined();
});

test('clients get each byte of a repeated answer, with their own ID as they wrote it', async () => {
  const result = tools(200, 'wörk 日本 😀 ');
  const calls: EndedCall[] = [];
  const traffic = { recordsBodies: false, record: (call: EndedCall) => void calls.push(call) };
  await using test = await openScriptedProxy({ traffic, sessions: 'shared' }, { 'tools/list': () => result });
  const session = await RawSession.open(test.url);
  const texts = ['1', '"n\\u00e4chste 😀"', '1', '-5'].map(
    (id) => `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`,
  );

  for (const text of texts) {
    const id = text.slice('{"jsonrpc":"2.0","id":'.length, text.indexOf(',"result"'));
    const response = await session.postText(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}`);
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect(await response.text()).toBe(text);
  }
  const listed = calls.filter(({ method }) => method === 'tools/list');
  expect(listed.map(({ responseBytes }) => responseBytes)).toEqual(
    texts.map((text) => Buffer.byteLength(text)),
  );
});
