import { homedir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { filledRequest } from './placeholders.ts';
import { previewOf } from './testing/read-document.ts';

const npx = (...args: string[]) => ({ command: 'npx', args: ['-y', 'server', ...args] });

describe('a placeholder outside of variables', () => {
  test.each([
    ['an input with a default', npx('${input:org}'), ['acme']],
    ['an input in a text', npx('--org=${input:org}/x'), ['--org=acme/x']],
    ["the entry's own variable", { ...npx('${ORG}'), env: { ORG: 'own' } }, ['own']],
    [
      "the entry's own variable as env:",
      { ...npx('Bearer ${env:ORG}'), env: { ORG: 'own' } },
      ['Bearer own'],
    ],
    ['the form of OpenCode', { ...npx('{env:ORG}'), env: { ORG: 'own' } }, ['own']],
    ['a default in the place', npx('${ORG:-own}'), ['own']],
    [
      'an own variable that another one contains',
      { ...npx('${URL}'), env: { URL: 'https://${HOST}/${env:PATH_OF_IT}', HOST: 'own', PATH_OF_IT: 'x' } },
      ['https://own/x'],
    ],
    [
      'the home directory',
      npx('${userHome}/notes', '${env:HOME}', '${HOME}'),
      [`${homedir()}/notes`, homedir(), homedir()],
    ],
  ])('has its value: %s', async (_title, entry, args) => {
    const inputs = [{ id: 'org', type: 'promptString', default: 'acme' }];

    const [server] = await previewOf({ inputs, servers: { one: entry } });

    expect(server).toMatchObject({ request: { cmd_arguments: args }, needs: [] });
  });

  test.each([
    ['an argument', npx('--key', '${input:key}'), 'key', '${input:key}', true],
    [
      'an argument with a name of any kind',
      npx('${your-index-name}'),
      'your-index-name',
      '${your-index-name}',
      false,
    ],
    ['a URL', { url: 'https://${TENANT}.example.com/mcp' }, 'TENANT', '${TENANT}', false],
    ['a URL template', { url: 'https://{tenant}.example.com/mcp' }, 'tenant', '{tenant}', false],
    ['a whole URL', { url: '${input:address}' }, 'address', '${input:address}', false],
    [
      'a mount',
      { command: 'docker', args: ['run', '-v', '${env:DATA}:/data:ro', 'example/server'] },
      'DATA',
      '${env:DATA}',
      false,
    ],
    ['a path', npx('/path/to/files'), '/path/to/files', '/path/to/files', false],
    ['a relative path', npx('path/to/file.db'), 'path/to/file.db', 'path/to/file.db', false],
    ['a path of a flag', npx('--dir=/path/to/files'), '/path/to/files', '/path/to/files', false],
    [
      'a home directory',
      npx('/Users/username/Desktop'),
      '/Users/username/Desktop',
      '/Users/username/Desktop',
      false,
    ],
    ['a part of a path', npx('~/your-name/notes'), '~/your-name/notes', '~/your-name/notes', false],
    ['a part of a host', { url: 'https://your-org.example.com/mcp' }, 'your-org', 'your-org', false],
    ['the project', npx('${workspaceFolder}/src'), 'workspaceFolder', '${workspaceFolder}', false],
    ['an argument without braces', npx('--token', '$API_TOKEN'), 'API_TOKEN', '${API_TOKEN}', true],
    ['the value of a flag without braces', npx('--region=$REGION'), 'REGION', '${REGION}', false],
  ])('is a question if its value is not known: %s', async (_title, entry, name, token, secret) => {
    const [server] = await previewOf({ mcpServers: { one: entry } });

    expect(server?.problem).toBeUndefined();
    expect(server?.needs).toMatchObject([{ kind: 'placeholder', name, token, secret }]);
    const answered = filledRequest(server?.request ?? {}, new Map([[token, 'answer']]));
    expect(JSON.stringify(answered)).toContain('answer');
    expect(JSON.stringify(answered)).not.toContain(token);
  });

  test.each([
    '$5',
    '$',
    'cost:$USD',
    '$lower',
    'a$B',
    '$A$B',
    '$SCHEMA/x',
    '/api/{id}',
    '/srv/path',
    'https://h/path/to/x',
  ])('stays as it is: %s', async (text) => {
    const [server] = await previewOf({ mcpServers: { one: npx(text) } });

    expect(server).toMatchObject({ request: { cmd_arguments: [text] }, needs: [] });
  });

  test.each([
    ['a URL', { url: 'https://${HOST}/mcp', env: { HOST: 'h.example.com' } }],
    ['a URL with env:', { url: 'https://{env:HOST}/mcp', env: { HOST: 'h.example.com' } }],
    [
      'the URL of mcp-remote',
      { command: 'npx', args: ['mcp-remote', '${URL}'], env: { URL: 'https://h.example.com/mcp' } },
    ],
    [
      'a part of the URL of mcp-remote',
      {
        command: 'npx',
        args: ['-y', 'mcp-remote@latest', 'https://${env:HOST}/mcp'],
        env: { HOST: 'h.example.com' },
      },
    ],
  ])("has the value of the entry's own variable in %s", async (_title, entry) => {
    const [server] = await previewOf({ mcpServers: { one: entry } });

    expect(server).toMatchObject({ request: { url: 'https://h.example.com/mcp' }, needs: [] });
  });

  test.each([
    ['Authorization', 'Bearer {env:API_TOKEN}', 'Bearer not-a-real-token'],
    ['Authorization', 'Bearer ${env:API_TOKEN}', 'Bearer not-a-real-token'],
    ['X-Key', '${API_TOKEN}', 'not-a-real-token'],
  ])('has the value of a variable in the header %s: %s', async (name, text, value) => {
    const remote = { type: 'remote', url: 'https://mcp.example.com/mcp', headers: { [name]: text } };

    const [open] = await previewOf({ mcp: { remote } });
    const [known] = await previewOf({
      mcp: { remote: { ...remote, environment: { API_TOKEN: 'not-a-real-token' } } },
    });

    expect(open?.needs).toMatchObject([{ kind: 'header', name, secret: true }]);
    expect(known).toMatchObject({ request: { headers: [{ name, default: value }] }, needs: [] });
  });

  test('takes the description and the secrecy of its input', async () => {
    const inputs = [{ id: 'place', type: 'promptString', description: 'The place', password: true }];

    const [server] = await previewOf({ inputs, servers: { one: npx('${input:place}') } });

    expect(server?.needs).toMatchObject([{ name: 'place', description: 'The place', secret: true }]);
  });

  test('never takes the default of a password as its value', async () => {
    const inputs = [{ id: 'key', type: 'promptString', default: 'not-a-real-password', password: true }];

    const [server] = await previewOf({ inputs, servers: { one: npx('${input:key}') } });

    expect(server?.request?.cmd_arguments).toEqual(['${input:key}']);
  });

  test.each([
    ['-e TOKEN', { TOKEN: 't' }, { TOKEN: 't' }],
    ['-e TOKEN=${TOKEN}', { TOKEN: 't' }, { TOKEN: 't' }],
    ['-e ${TOKEN}', { TOKEN: 't' }, { TOKEN: 't' }],
    ['--env TOKEN=${env:OTHER}', { OTHER: 't' }, { TOKEN: 't' }],
  ])("of docker is the entry's own variable: %s", async (flags, env, expected) => {
    const args = ['run', '-i', '--rm', ...flags.split(' '), 'example/server'];

    const [server] = await previewOf({ mcpServers: { one: { command: 'docker', args, env } } });

    expect(server).toMatchObject({ request: { env_vars: expected }, needs: [] });
  });

  test.each([
    ['-e TOKEN=${TOKEN}', {}],
    ['-e TOKEN', { TOKEN: '${input:t}' }],
    ['-e ${TOKEN}', { TOKEN: '<your token>' }],
  ])('of docker that is open asks for the variable: %s', async (flags, env) => {
    const args = ['run', '-i', '--rm', ...flags.split(' '), 'example/server'];

    const [server] = await previewOf({ mcpServers: { one: { command: 'docker', args, env } } });

    expect(server?.needs).toMatchObject([{ kind: 'variable', name: 'TOKEN' }]);
    expect(server?.request?.env_vars).toEqual({});
  });

  test('is not looked for in the answer to another one', () => {
    const answers = new Map([
      ['${A}', '${B}'],
      ['${B}', 'secret'],
    ]);

    const { cmd_arguments } = filledRequest({ cmd_arguments: ['${A} ${B}'] }, answers);

    expect(cmd_arguments).toEqual(['${B} secret']);
  });
});

describe('an example', () => {
  test.each<[string, object, string, object]>([
    ['an argument', npx('--api-key', 'YOUR_API_KEY'), 'YOUR_API_KEY', { cmd_arguments: ['--api-key', 'k'] }],
    ['a flag', npx('--api-key=<your key>'), '<your key>', { cmd_arguments: ['--api-key=k'] }],
    ['an argument in lowercase', npx('your-token-here'), 'your-token-here', { cmd_arguments: ['k'] }],
    ['a crossed-out key', npx('--key', 'sk-xxxxxxxx'), 'sk-xxxxxxxx', { cmd_arguments: ['--key', 'k'] }],
    [
      'the query of a URL',
      { url: 'https://mcp.example.com/mcp?apiKey=YOUR_API_KEY' },
      'YOUR_API_KEY',
      { url: 'https://mcp.example.com/mcp?apiKey=k' },
    ],
    [
      'the path of a URL',
      { url: 'https://mcp.example.com/<your token>/mcp' },
      '<your token>',
      { url: 'https://mcp.example.com/k/mcp' },
    ],
    [
      'the URL behind a bridge',
      { command: 'npx', args: ['-y', 'mcp-remote', 'https://mcp.example.com/mcp?key=YOUR_KEY'] },
      'YOUR_KEY',
      { url: 'https://mcp.example.com/mcp?key=k' },
    ],
  ])('in %s is asked for', async (_what, entry, token, filled) => {
    const [server] = await previewOf({ mcpServers: { one: entry } });

    expect(server?.needs).toMatchObject([{ kind: 'placeholder', token }]);
    expect(filledRequest(server?.request ?? {}, new Map([[token, 'k']]))).toMatchObject(filled);
  });

  test.each(['--region=eu-west-1', 'your', 'put', '{"key":"YOUR_KEY"}', 'a<b>c', '--expr=x>y', 'xx'])(
    'is not the argument %s',
    async (word) => {
      const [server] = await previewOf({ mcpServers: { one: npx(word) } });

      expect(server?.needs).toEqual([]);
    },
  );
});
