import { expect, test } from 'vitest';
import { isCredential, urlWithoutCredentials, withoutCredentials } from './credential.ts';

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
  ['MYSQL_PASS', 'abc', true],
  ['pass', 'abc', true],
  ['BYPASS', 'cache', false],
  ['PASS_THROUGH', 'headers', false],
  ['HEADERS', '{"Authorization": "Bearer abcdefgh", "Version": "1"}', true],
  ['HEADERS', '{"x-api-key": "abcdefgh"}', true],
  ['OPTIONS', '--key sk-abcdefgh', true],
  ['ALLOWED', '["/projects", "/data"]', false],
  ['HEADERS', '{"Authorization": "Bearer ${TOKEN}"}', false],
])('%s=%s is a credential: %s', (name, value, expected) => {
  expect(isCredential(name, value)).toBe(expected);
});

test.each([
  ['https://mcp.example.com/mcp', 'https://mcp.example.com/mcp'],
  ['https://u:p@mcp.example.com/mcp', 'https://***@mcp.example.com/mcp'],
  ['https://mcp.example.com/mcp?key=abc&lang=en', 'https://mcp.example.com/mcp?key=***&lang=en'],
  ['https://mcp.example.com/s/AbCd0123456789abcdef01/mcp', 'https://mcp.example.com/s/***/mcp'],
  [
    'https://mcp.example.com/a-long-name-of-a-public-server/mcp',
    'https://mcp.example.com/a-long-name-of-a-public-server/mcp',
  ],
  ['https://mcp.example.com/mcp?key=${KEY}', 'https://mcp.example.com/mcp?key=${KEY}'],
  ['http://a-host-of-a-team-with-1-name/mcp', 'http://a-host-of-a-team-with-1-name/mcp'],
  ['npx://server@latest', 'npx://server@latest'],
  ['uvx://awslabs-s3-tables-mcp-server', 'uvx://awslabs-s3-tables-mcp-server'],
  ['uvx://git+https://u:p@h.example.com/a/b#program=c', 'uvx://git+https://***@h.example.com/a/b#program=c'],
])('shows the URL %s as %s', (url, shown) => {
  expect(urlWithoutCredentials(url)).toBe(shown);
});

test('shows arguments without the values of their credentials', () => {
  const args = [
    '--token',
    'abcdef',
    '--db-pass',
    'abcdef',
    '--api-key=abcdef',
    '--mode',
    'fast',
    '${TOKEN}',
    'ghp_abcdef',
  ];

  const shown = withoutCredentials(args);

  expect(shown).toEqual([
    '--token',
    '***',
    '--db-pass',
    '***',
    '--api-key=***',
    '--mode',
    'fast',
    '${TOKEN}',
    '***',
  ]);
});

test('very long values are examined in time', { timeout: 60_000 }, () => {
  const value = 'a'.repeat(10_000);

  const found = Array.from({ length: 2_000 }, () => isCredential('x', value));

  expect(new Set(found)).toEqual(new Set([false]));
});
