import { describe, expect, test } from 'vitest';
import { isCommandLine, readCommandLine } from './launchers.ts';

const read = (words: readonly string[]) =>
  readCommandLine(words, { env: {}, directory: '/', readFile: async () => '' });

describe('a command that adds a server to a client', () => {
  test.each<[string, object]>([
    [
      'claude mcp add one -- npx -y server --flag',
      { name: 'one', image: 'npx://server', cmd_arguments: ['--flag'] },
    ],
    ['claude mcp add one npx server', { name: 'one', image: 'npx://server' }],
    [
      'claude mcp add -s user one -e KEY=a -e B=c=d -- npx -y server',
      { name: 'one', env_vars: { KEY: 'a', B: 'c=d' } },
    ],
    [
      'claude mcp add --scope=project --transport stdio one -- uvx server -e x',
      { image: 'uvx://server', cmd_arguments: ['-e', 'x'] },
    ],
    [
      'claude mcp add --transport http one https://mcp.example.com/mcp',
      { name: 'one', url: 'https://mcp.example.com/mcp' },
    ],
    [
      'claude mcp add -t sse one https://mcp.example.com/x',
      { url: 'https://mcp.example.com/x', transport: 'sse' },
    ],
    [
      'codex mcp add one --env KEY=a -- npx -y server',
      { name: 'one', image: 'npx://server', env_vars: { KEY: 'a' } },
    ],
    ['codex mcp add one --url https://mcp.example.com/mcp', { url: 'https://mcp.example.com/mcp' }],
    ['gemini mcp add -s user one npx -y server', { name: 'one', image: 'npx://server' }],
    ['claude mcp add one npx server --scope user', { image: 'npx://server', cmd_arguments: [] }],
    ['claude mcp add one npx server -e KEY=a', { cmd_arguments: [], env_vars: { KEY: 'a' } }],
    ['claude mcp add one docker run -e KEY=a example/server', { env_vars: { KEY: 'a' }, cmd_arguments: [] }],
    ['claude mcp add one --env KEY=a B=c -- npx server', { env_vars: { KEY: 'a', B: 'c' } }],
    ['claude mcp add one -- npx server --scope user', { cmd_arguments: ['--scope', 'user'] }],
    ['gemini mcp add --trust --timeout 9 one npx server -- --flag', { cmd_arguments: ['--flag'] }],
    ['droid mcp add one https://mcp.example.com/mcp --type http', { url: 'https://mcp.example.com/mcp' }],
    [
      'kiro-cli mcp add --name one --command npx --args -y,server --env KEY=a --scope global',
      { name: 'one', image: 'npx://server', env_vars: { KEY: 'a' } },
    ],
    [
      'codex mcp add one --url https://mcp.example.com/mcp --bearer-token-env-var KEY',
      { headers: [{ name: 'Authorization', default: 'Bearer ${KEY}' }] },
    ],
    ['claude mcp add one -- docker run -i -e KEY example/server', { name: 'one', image: 'example/server' }],
  ])('runs the server: %s', async (text, expected) => {
    const words = text.split(' ');

    const { request } = await read(words);

    expect(isCommandLine(words)).toBe(true);
    expect(request).toMatchObject(expected);
  });

  test('keeps the headers of a remote server', async () => {
    const header = 'Authorization: Bearer not-a-real-token';

    const { request } = await read([
      'claude',
      'mcp',
      'add',
      'one',
      'https://mcp.example.com/mcp',
      '--header',
      header,
    ]);
    const { request: before } = await read([
      'claude',
      'mcp',
      'add',
      '-H',
      header,
      'one',
      'https://mcp.example.com/mcp',
    ]);

    const headers = [{ name: 'Authorization', default: 'Bearer not-a-real-token' }];
    expect([request.headers, before.headers]).toMatchObject([headers, headers]);
  });

  test.each([
    [['droid', 'mcp', 'add', 'one', 'npx -y server', '--env', 'KEY=a']],
    [['auggie', 'mcp', 'add', 'one', '--command', 'npx', '--args', '-y server', '-e', 'KEY=a']],
    [['q', 'mcp', 'add', '--name', 'one', '--command', 'npx', '--args', '["-y","server"]', '--env', 'KEY=a']],
  ])('can have several words in one: %j', async (words) => {
    const { request } = await read(words);

    expect(request).toMatchObject({ name: 'one', image: 'npx://server', env_vars: { KEY: 'a' } });
  });

  test('of Gemini CLI can have its flags behind the command', async () => {
    const words = 'gemini mcp add one npx -y server --own --trust --timeout 500 --description=x'.split(' ');

    const { request } = await read(words);

    expect(request).toMatchObject({ image: 'npx://server', cmd_arguments: ['--own'] });
  });

  test('gives docker the variables of the entry', async () => {
    const words = 'claude mcp add one -e KEY=a -- docker run -i -e KEY example/server'.split(' ');

    const { request } = await read(words);

    expect(request.env_vars).toEqual({ KEY: 'a' });
  });

  test.each([
    ['claude mcp add', 'needs a name'],
    ['claude mcp add one', 'a command or a URL'],
    ['claude mcp add --unknown one -- npx server', '--unknown'],
    ['claude mcp add one -e not-a-real-token -- npx server', '--env takes NAME=VALUE'],
    ['claude mcp add one -- unknown-program', 'unknown-program'],
    ['claude mcp add --transport http one <url>/mcp', '"<url>/mcp" is not the URL of a server'],
  ])('says what is wrong, without values: %s', async (text, message) => {
    const failure = await read(text.split(' ')).catch((thrown: Error) => thrown.message);

    expect(failure).toContain(message);
    expect(failure).not.toContain('not-a-real-token');
  });
});
