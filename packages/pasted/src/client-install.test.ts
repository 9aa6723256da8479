import { describe, expect, test } from 'vitest';
import { readClientEntry } from './client-entry.ts';
import { previewImport } from './import.ts';
import { readInstallation } from './client-install.ts';

const from = { env: {}, directory: '/', readFile: async () => '' };
const entry = { command: 'npx', args: ['-y', 'server', '--flag'], env: { KEY: 'a' } };
const base64 = Buffer.from(JSON.stringify(entry)).toString('base64');
const json = encodeURIComponent(JSON.stringify(entry));
const named = encodeURIComponent(JSON.stringify({ name: 'one', ...entry }));

async function requestOf(words: readonly string[]): Promise<object | undefined> {
  const found = readInstallation(words);
  if (found === undefined) return undefined;
  const [only] = found.entries;
  if (only === undefined) throw new Error('it has no server');
  return (await readClientEntry(only, { ...from, inputs: found.inputs })).request;
}

describe('a command with the JSON of a server', () => {
  test.each([
    ['claude mcp add-json', ['claude', 'mcp', 'add-json', 'one', JSON.stringify(entry)]],
    ['another client', ['openclaw', 'mcp', 'set', 'one', JSON.stringify(entry)]],
    ['a scope before the name', ['claude', 'mcp', 'add-json', '-s', 'user', 'one', JSON.stringify(entry)]],
    ['a scope at the end', ['claude', 'mcp', 'add-json', 'one', JSON.stringify(entry), '--scope=user']],
    ['code --add-mcp', ['code', '--add-mcp', JSON.stringify({ name: 'one', ...entry })]],
    ['another editor', ['code-insiders', `--add-mcp=${JSON.stringify({ name: 'one', ...entry })}`]],
    ['Windows', [String.raw`C:\Code\bin\code.cmd`, '--add-mcp', JSON.stringify({ name: 'one', ...entry })]],
    ['a section', ['claude', 'mcp', 'add-json', 'one', JSON.stringify({ mcpServers: { one: entry } })]],
  ])('is read: %s', async (_, words) => {
    const request = await requestOf(words);

    expect(request).toMatchObject({
      name: 'one',
      image: 'npx://server',
      cmd_arguments: ['--flag'],
      env_vars: { KEY: 'a' },
    });
  });

  test.each([
    [['claude', 'mcp', 'add-json', 'one']],
    [['code', '--add-mcp']],
    [['code', '--add-mcp', '{"name": "one", "command": "npx", "env": {"KEY": "not-a-real-token"']],
    [['claude', 'mcp', 'add-json', 'one', '["not-a-real-token"]']],
    [['claude', 'mcp', 'add-json', 'one', JSON.stringify({ mcpServers: { one: entry, two: entry } })]],
  ])('is refused without its values: %j', (words) => {
    const read = () => readInstallation(words);

    expect(read).toThrow(/JSON|server/);
    expect(read).not.toThrow('not-a-real-token');
  });
});

describe('a command with the servers of one session', () => {
  const section = JSON.stringify({ mcpServers: { one: entry } });

  test.each([
    ['claude', ['claude', '--mcp-config', section]],
    ['a prompt', ['claude', '-p', 'list my files', `--mcp-config=${section}`, '--strict-mcp-config']],
    ['copilot', ['copilot', '--additional-mcp-config', section]],
    [
      'codex',
      [
        'codex',
        '-c',
        'mcp_servers.one.command=npx',
        '-c',
        'mcp_servers.one.args=["-y", "server", "--flag"]',
        '--config=mcp_servers.one.env={KEY="a"}',
        '-c',
        'model=x',
        'exec',
        'hello',
      ],
    ],
  ])('is read: %s', async (_, words) => {
    expect(await requestOf(words)).toMatchObject({
      name: 'one',
      image: 'npx://server',
      cmd_arguments: ['--flag'],
      env_vars: { KEY: 'a' },
    });
  });

  test('can have several servers', async () => {
    const two = JSON.stringify({ mcpServers: { two: { url: 'https://example.com/mcp' } } });

    const { servers } = await previewImport(`claude --mcp-config '${section}' '${two}' -p hello`);

    expect(servers.map(({ name }) => name)).toEqual(['one', 'two']);
  });

  test.each([
    [['claude', '--mcp-config', './mcp.json'], 'import the file: thv import ./mcp.json'],
    [['copilot', '--additional-mcp-config', '@/x/mcp.json'], 'import the file: thv import /x/mcp.json'],
    [['claude', '--mcp-config', 'a b; rm x'], 'import the file: thv import FILE'],
  ])('names the file with its servers: %j', (words, hint) => {
    expect(() => readInstallation(words)).toThrow(expect.objectContaining({ hint }));
  });

  test.each([[['claude', '-p', 'hello']], [['codex', '-c', 'model=x']], [['npx', '--mcp-config', section]]])(
    'is nothing else: %j',
    (words) => {
      expect(readInstallation(words)).toBeUndefined();
    },
  );
});

describe('an installation link', () => {
  test.each([
    `vscode:mcp/install?${named}`,
    `vscode-insiders:mcp/install?${named}`,
    `cursor://anysphere.cursor-deeplink/mcp/install?name=one&config=${base64}`,
    `cursor://anysphere.cursor-deeplink/mcp/install?name=one&config=${encodeURIComponent(base64)}`,
    `https://cursor.com/install-mcp?name=one&config=${encodeURIComponent(base64)}`,
    `https://cursor.com/en/install-mcp?name=one&config=${base64.replaceAll('=', '')}`,
    `https://insiders.vscode.dev/redirect/mcp/install?name=one&config=${json}`,
    `https://vscode.dev/redirect?url=${encodeURIComponent(`vscode:mcp/install?${named}`)}`,
    `lmstudio://add_mcp?name=one&config=${base64}`,
    `https://lmstudio.ai/install-mcp?name=one&config=${base64}`,
    `https://cursor.com/link/mcp/install?name=one&config=${base64}`,
    `https://www.cursor.com/link/mcp%2Finstall?name=one&config=${base64}`,
    `cursor://anysphere.cursor-deeplink/mcp/install?name=one&amp;config=${base64}`,
    `kiro://kiro.mcp/add?name=one&config=${json}`,
    `https://kiro.dev/launch/mcp/add/?name=one&config=${json}`,
    `trae://trae.ai-ide/mcp-import?type=stdio&name=one&config=${base64}`,
    `raycast://mcp/install?${named}`,
    `com.raycast:/mcp/install?${named}`,
    `cherrystudio://mcp/install?servers=${Buffer.from(JSON.stringify({ mcpServers: { one: entry } })).toString('base64')}`,
  ])('is read: %s', async (link) => {
    const request = await requestOf([link]);

    expect(readInstallation([link])?.isHidden).toBe(true);
    expect(request).toMatchObject({ name: 'one', image: 'npx://server', env_vars: { KEY: 'a' } });
  });

  test('can ask for values', async () => {
    const config = encodeURIComponent(JSON.stringify({ ...entry, env: { KEY: `$\{input:key}` } }));
    const inputs = encodeURIComponent(JSON.stringify([{ id: 'key', type: 'promptString', password: true }]));
    const link = `https://vscode.dev/redirect/mcp/install?name=one&config=${config}&inputs=${inputs}`;

    const found = readInstallation([link]);
    const [only] = found?.entries ?? [];
    const { needs } = await readClientEntry(only!, { ...from, inputs: found!.inputs });

    expect(needs).toMatchObject([{ secret: true }]);
  });

  test('names the variables of Goose, not their descriptions', async () => {
    const link =
      'goose://extension?cmd=npx&arg=-y&arg=server&id=one&name=One&description=text&env=KEY%3DYour%20key';

    const [only] = readInstallation([link])?.entries ?? [];

    expect(only).toMatchObject({ name: 'one', entry: { command: 'npx', env: { KEY: '${KEY}' } } });
  });

  test('keeps the headers of Goose', () => {
    const link =
      'goose://extension?type=streamable_http&url=https%3A%2F%2Fa.example%2Fmcp&id=one&header=X-Key%3Da%3Db';

    const [only] = readInstallation([link])?.entries ?? [];

    expect(only?.entry).toMatchObject({ url: 'https://a.example/mcp', headers: { 'X-Key': 'a=b' } });
  });

  test.each([
    `[![Install](https://cursor.com/deeplink/dark.svg)](https://cursor.com/install-mcp?name=one&config=${base64})`,
    `<a href="cursor://anysphere.cursor-deeplink/mcp/install?name=one&amp;config=${base64}">\n<img src="x.svg"></a>`,
  ])('can be a badge: %s', async (text) => {
    const { servers } = await previewImport(text);

    expect(servers).toMatchObject([{ name: 'one', request: { image: 'npx://server' } }]);
  });

  test.each([
    ['https://mcp.example.com/mcp'],
    ['https://kiro.dev.example/launch/mcp/add?config=e30'],
    ['foo://mcp.example.com/mcp'],
    ['http://cursor.com/install-mcp?config=e30'],
    ['https://cursor.com.example/install-mcp?config=e30'],
    ['https://vscode.dev/redirect?url=https%3A%2F%2Fmcp.example.com'],
    ['npx'],
    ['code'],
    ['cursor:'],
  ])('is nothing else: %s', (word) => {
    const found = readInstallation([word]);

    expect(found).toBeUndefined();
  });

  test.each([
    [`https://cursor.com/install-mcp?name=one`],
    [`https://cursor.com/install-mcp?name=one&config=!!!`],
    [`vscode:mcp/install?`],
    [`vscode:mcp/install?%7B%22name%22%3A%22one%22%7D`],
  ])('without a server is refused: %s', (link) => {
    const read = () => readInstallation([link]);

    expect(read).toThrow(/link/);
  });
});
