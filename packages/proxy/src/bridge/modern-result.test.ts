import { expect, test } from 'vitest';
import { readMessage } from '../jsonrpc/message.ts';
import { modernized, withoutResultType } from './modern-result.ts';

const identity = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  serverInfo: { name: 'one', version: '1' },
};

const responses = [
  '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"a"}]}}',
  '{"jsonrpc":"2.0","id":"one","result":{"tools":[], "resultType" : "complete" }}',
  '{"result":{ "resultType":"complete" },"jsonrpc":"2.0","id":12}',
  '{"result":{"ttlMs":5,\n "resultType":"complete",\n "_meta":{}},"jsonrpc":"2.0","id":12}',
  '{"result":{"content":[],"_meta":{"a":1},"__proto__":{"b":2}},"id":7,"jsonrpc":"2.0"}',
  '{"result":{},"id":7,"jsonrpc":"2.0"}',
  '{"jsonrpc":"2.0","id":8,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"own"}}}}',
  '{"jsonrpc":"2.0","id":9,"result":{"tools":[{"resultType":"complete"}],"resultType":"complete"}}',
];

test.each(responses)('a result in the other generation is what a parser reads: %j', (text) => {
  const response = readMessage(text);

  for (const translated of [withoutResultType(response), modernized(response, 'tools/list', identity)]) {
    expect(translated).toEqual(readMessage(translated.text));
  }
});

test.each(responses)('a result without its type has the same other members: %j', (text) => {
  const { resultType: _type, ...others } = readMessage(text).value.result as Record<string, unknown>;

  expect(withoutResultType(readMessage(text)).value).toMatchObject({ result: others });
  expect(withoutResultType(readMessage(text)).value.result).not.toHaveProperty('resultType');
});
