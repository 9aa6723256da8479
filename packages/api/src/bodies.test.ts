import { expect, test } from 'vitest';
import { dial } from './testing/exchange.ts';
import type { Reply } from './testing/exchange.ts';
import { openTestApi } from './testing/test-api.ts';

const json = { 'content-type': 'application/json' };
const groups = '/api/v1beta/groups';

const mebibyte = 1024 * 1024;

test('incomplete bodies are refused when they use too much memory, and small ones are accepted', async () => {
  await using api = await openTestApi();
  const head = `POST /api/v1beta/groups HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${mebibyte}\r\n\r\n`;

  const heads: Reply[] = [];
  const dialed = Array.from({ length: 20 }, () => dial(api.port, (reply) => heads.push(reply)));
  const callers = await Promise.all(dialed);
  for (const { socket } of callers) socket.write(head + ' '.repeat(mebibyte - 1));
  await expect.poll(() => heads.length).toBeGreaterThanOrEqual(3);

  expect(heads[0]?.status).toBe(503);
  expect((await api.post(groups, { name: 'small' })).status).toBe(201);
  for (const { socket } of callers) socket.destroy();
});

test('a body that nests too deep is refused, whatever brackets its strings contain', async () => {
  await using api = await openTestApi();
  const nested = '["]]]]",'.repeat(40) + '1' + ']'.repeat(40);

  const response = await api.send('POST', groups, json, `{"name":${nested}}`);

  expect(response.status).toBe(400);
  expect(response.text).toContain('nests deeper than 32 levels');
});

test('brackets in a string are not nesting', async () => {
  await using api = await openTestApi();

  const response = await api.post(groups, { name: '['.repeat(40) });

  expect(response.text).not.toContain('nests deeper');
});

test.each(['"__proto__"', '"\\u005f_proto__"'])('a member %s is refused, however deep', async (name) => {
  await using api = await openTestApi();

  const response = await api.send('POST', groups, json, `{"name":"one","more":[{${name}:{}}]}`);

  expect(response.status).toBe(400);
  expect(response.text).toBe('the body has a member __proto__, which is not accepted\n');
});
