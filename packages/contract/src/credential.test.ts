import { expect, test } from 'vitest';
import { isCredential } from './credential.ts';

test.each([
  ['GITHUB_TOKEN', 'abc', true],
  ['API_KEY', 'abc', true],
  ['OPENAI_APIKEY', 'abc', true],
  ['DATABASE_URL', 'postgres://user:word@host/db', true],
  ['ANYTHING', 'ghp_abc', true],
  ['Authorization', 'Bearer abc', true],
  ['MODE', 'fast', false],
  ['MAX_TOKENS', '4096', false],
  ['TOKEN_FILE', '/run/token', false],
  ['AUTH', 'true', false],
  ['KEYBOARD', 'us', false],
  ['HEADERS', '{"Authorization": "Bearer abcdefgh", "Version": "1"}', true],
  ['HEADERS', '{"x-api-key": "abcdefgh"}', true],
  ['OPTIONS', '--key sk-abcdefgh', true],
  ['ALLOWED', '["/projects", "/data"]', false],
  ['HEADERS', '{"Authorization": "Bearer ${TOKEN}"}', false],
])('%s=%s is a credential: %s', (name, value, expected) => {
  expect(isCredential(name, value)).toBe(expected);
});
