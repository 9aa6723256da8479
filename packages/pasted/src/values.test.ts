import { describe, expect, test } from 'vitest';
import { readClientEntry } from './client-entry.ts';
import { previewOf } from './testing/read-document.ts';

const entry = { command: 'npx', args: ['-y', 'server'] };

async function variablesOf(value: string, name = 'SETTING') {
  const [server] = await previewOf({ mcpServers: { one: { ...entry, env: { [name]: value } } } });
  return { value: server?.request?.env_vars?.[name], needs: server?.needs ?? [], server };
}

describe('a value in a configuration', () => {
  test.each([
    '{"Authorization": "Bearer not-a-real-token", "Version": "2022-06-28"}',
    '["/projects","/data"]',
    '[]',
    '{}',
    '[1]',
    '"quoted"',
    '{key: [a, b]}',
    'postgresql://user:not-a-real-password@host/db',
    'see here',
    'a <b> c > d',
    'xx',
    '0xxxx1',
    'My token is here',
    'https://example.com/{id}',
    'https://yours.example.com',
    'the path to take',
    'bring-your-own-key',
    '/srv/{id}/notes',
    '<a href="x">text</a>',
    'p$ssw0rd{1}',
    'enter',
    'yourself',
  ])('is kept, and nobody is asked: %s', async (text) => {
    const { value, needs } = await variablesOf(text);

    expect(value).toBe(text);
    expect(needs).toEqual([]);
  });

  test.each([
    'your-company-inc',
    'your-org',
    'Your Company',
    '[team]',
    '{message}',
    'left-here',
    'replace-all',
    'https://<host>/api',
    'https://your-org.example.com',
    'https://yoursite.com:8080/wp',
    '$MY_VAR',
  ])('that may be an example is kept, and the user is told without the value: %s', async (text) => {
    const { value, needs, server } = await variablesOf(text);

    expect(value).toBe(text);
    expect(needs).toEqual([]);
    expect(server?.notes).toEqual(['the value of SETTING may be an example. If it is, replace it']);
  });

  test.each([
    '<your token>',
    '<API_KEY>',
    'YOUR_API_KEY',
    'YOUR_COMPANY',
    'sk-your-key',
    'ghp_your_token',
    'xoxb-your-bot-token',
    '<<key>>',
    '{{ my.key }}',
    'your-api-key',
    'your_token_here',
    'yourApiKey',
    'YOUR-PROJECT-ID',
    'INSERT_KEY',
    'enter your token',
    'replace with your key',
    'API_KEY_HERE',
    '[YOUR_KEY]',
    '{your-token}',
    '{{ API_KEY_HERE }}',
    'xxx',
    'xxxxxxxx-xxxx',
    'xxxx xxxx xxxx xxxx',
    'whsec_your_webhook_secret',
    'pplx-your-api-key',
    'sk_test_your_key',
    'path/to/file.json',
    '/path/to/file.json',
    '/Users/YOUR_USERNAME/notes',
    'sk-...',
    'ghp_xxxxxxxxxxxx',
    'xoxb-***',
    'change-me',
    'changeme',
    'REPLACE_ME',
    '…',
    'SETTING_X',
    '${SOME_VARIABLE}',
    '${input:token}',
    '${{ secrets.TOKEN }}',
    '{env:TOKEN}',
  ])('that is a placeholder as a whole is asked for: %s', async (text) => {
    const { value, needs } = await variablesOf(text, 'SETTING_X');

    expect(value).toBeUndefined();
    expect(needs).toMatchObject([{ kind: 'variable', name: 'SETTING_X' }]);
  });

  test.each([
    ['the same name', 'SITE', '$SITE'],
    ['the name of a credential', 'GITHUB_PERSONAL_ACCESS_TOKEN', '$GITHUB_PAT'],
  ])('that names a variable without braces is asked for: %s', async (_title, name, text) => {
    const { value, needs, server } = await variablesOf(text, name);

    expect(value).toBeUndefined();
    expect(needs).toMatchObject([{ kind: 'variable', name }]);
    expect(server?.notes).toEqual([]);
  });

  test('that names a variable without braces is the value of that variable', async () => {
    const raw = { name: 'one', workload: 'one', notes: [], entry: { ...entry, env: { MODE: '$MY_MODE' } } };
    const from = { env: { MY_MODE: 'fast' }, directory: undefined, readFile: () => Promise.resolve('') };

    const { request, doubts } = await readClientEntry(raw, from);

    expect(request.env_vars).toEqual({ MODE: 'fast' });
    expect(doubts).toEqual([]);
  });

  test.each([
    ['https://user:not-a-real-password@${HOST}/db', 'contains HOST'],
    ['{"Authorization": "Bearer not-a-real-password", "Org": "${input:org}"}', 'contains org'],
    ['Bearer ${TOKEN}', 'Bearer, a space, and TOKEN'],
    ['Bearer $TOKEN', 'Bearer, a space, and TOKEN'],
    ['Bearer YOUR_API_KEY', 'Bearer, a space, and the value'],
    ['Basic <credentials>', 'Basic, a space, and the value'],
  ])('with a placeholder in it is described without its text: %s', async (text, description) => {
    const [server] = await previewOf({
      servers: { one: { url: 'https://mcp.example.com/mcp', headers: { Authorization: text } } },
    });

    expect(server?.needs).toMatchObject([{ kind: 'header', name: 'Authorization', description }]);
    expect(JSON.stringify(server)).not.toContain('not-a-real-password');
  });

  test.each([
    ['a variable', { env: { ONE: null, TWO: '2' } }, { env_vars: { TWO: '2' } }],
    ['an argument', { args: ['-y', 'server', null, 'last'] }, { cmd_arguments: ['last'] }],
    ['all variables', { env: null, envFile: null, cwd: null }, { env_vars: {} }],
    ['the type', { type: null, url: null }, { image: 'npx://server' }],
    ['a proxy', { env: { HTTP_PROXY: null } }, { env_vars: {} }],
    ['the last argument', { args: ['-y', 'server', null] }, { image: 'npx://server', cmd_arguments: [] }],
    [
      'a word of a command',
      { command: ['npx', '-y', null, 'server'], args: null },
      { image: 'npx://server' },
    ],
    [
      'a variable in a list',
      {
        env: [
          { name: 'ONE', value: null },
          { name: 'TWO', value: '2' },
        ],
      },
      { env_vars: { TWO: '2' } },
    ],
    ['a variable in a list of texts', { env: ['TWO=2', null] }, { env_vars: { TWO: '2' } }],
    [
      'a member of an inner object',
      { command: { path: 'npx', args: ['-y', 'server', null], env: { ONE: null } }, args: undefined },
      { cmd_arguments: [], env_vars: {} },
    ],
  ])('that is null is absent: %s', async (_title, changed, expected) => {
    const [server] = await previewOf({ mcpServers: { one: { ...entry, ...changed } } });

    expect(server?.request).toMatchObject(expected);
    expect(JSON.stringify(server)).not.toMatch(/null/);
  });

  test('that a list leaves out is asked for', async () => {
    const env = [{ name: 'ONE' }, { key: 'TWO', value: '2' }];

    const [server] = await previewOf({ mcpServers: { one: { ...entry, env } } });

    expect(server?.request?.env_vars).toEqual({ TWO: '2' });
    expect(server?.needs).toMatchObject([{ kind: 'variable', name: 'ONE' }]);
  });

  test.each([
    ['a map', { headers: { 'X-Trace': null, 'X-Count': 3 } }],
    [
      'a list',
      {
        headers: [
          { name: 'X-Trace', value: null },
          { key: 'X-Count', value: '3' },
        ],
      },
    ],
    ['an inner map', { requestInit: { headers: { 'X-Trace': null, 'X-Count': '3' } }, headers: null }],
    ['several maps', { headers: { 'X-Trace': null }, http_headers: { 'X-Count': '3' } }],
  ])('that is null is absent in headers in %s', async (_title, given) => {
    const [server] = await previewOf({ servers: { one: { url: 'https://mcp.example.com/mcp', ...given } } });

    expect(server?.request?.headers).toMatchObject([{ name: 'X-Count', default: '3' }]);
  });
});
