import { describe, expect, test } from 'vitest';
import { readClientEntry } from './client-entry.ts';
import { readCommandLine } from './launchers.ts';
import type { PastedFrom } from './pasted.ts';

const from: PastedFrom = { env: {}, directory: '/', readFile: async () => '' };
const entry = (fields: Record<string, unknown>) =>
  readClientEntry({ name: 'far', workload: 'far', notes: [], entry: fields }, from);

describe('a command of mcp-remote', () => {
  test.each([
    'npx mcp-remote https://mcp.example.com/mcp',
    'npx -y mcp-remote@latest https://mcp.example.com/mcp 3334',
    'npx mcp-remote@0.1.29 https://mcp.example.com/mcp --debug --allow-http',
    'bunx mcp-remote https://mcp.example.com/mcp --host 127.0.0.1',
    'cmd /c npx -y mcp-remote https://mcp.example.com/mcp --transport http-only',
  ])('becomes its remote server: %s', async (line) => {
    const { request, notes } = await readCommandLine(line.split(' '), from);

    expect(request).toMatchObject({ url: 'https://mcp.example.com/mcp' });
    expect(request).not.toHaveProperty('image');
    expect(notes).toEqual(['ToolHive connects to the server itself, so mcp-remote is not needed']);
  });

  test.each([
    ['npx mcp-remote https://mcp.example.com/sse', 'sse'],
    ['npx mcp-remote https://mcp.example.com/events --transport sse-only', 'sse'],
    ['npx mcp-remote https://mcp.example.com/mcp --transport sse-first', undefined],
  ])('keeps the transport: %s', async (line, transport) => {
    const { request } = await readCommandLine(line.split(' '), from);

    expect(request.transport).toBe(transport);
  });

  test.each([
    'npx mcp-remote https://mcp.example.com/mcp --static-oauth-client-info {"client_id":"x"}',
    'npx mcp-remote https://mcp.example.com/mcp --ignore-tool delete',
    'npx mcp-remote https://mcp.example.com/mcp and more',
    'npx mcp-remote',
  ])('stays a package if only the package understands it: %s', async (line) => {
    const { request } = await readCommandLine(line.split(' '), from);

    expect(request.image).toBe('npx://mcp-remote');
  });

  test('with the value of its own variable has this value in a header', async () => {
    const { request, needs } = await entry({
      command: 'npx',
      args: ['-y', 'mcp-remote', 'https://mcp.example.com/mcp', '--header', 'Authorization:Bearer ${TOKEN}'],
      env: { TOKEN: 'not-a-real-token' },
    });

    expect(request.headers).toMatchObject([{ name: 'Authorization', default: 'Bearer not-a-real-token' }]);
    expect(needs).toEqual([]);
  });

  test('with a variable that has no value asks for it', async () => {
    const args = ['mcp-remote', 'https://mcp.example.com/mcp', '--header', 'Authorization: Bearer ${TOKEN}'];

    const { request, needs } = await entry({ command: 'npx', args });

    expect(request.headers).toBeUndefined();
    expect(needs).toMatchObject([{ kind: 'header', name: 'Authorization' }]);
  });
});

test.each([
  [['-y @scope/server /folder'], ['/folder']],
  [["-y @scope/server '/my folder' --flag"], ['/my folder', '--flag']],
])('all arguments in one text are separate arguments: %j', async (args, expected) => {
  const { request } = await entry({ command: 'npx', args });

  expect(request).toMatchObject({ image: 'npx://@scope/server', cmd_arguments: expected });
});

test.each([['docker mcp gateway run'], ['docker compose up'], ['podman exec -i server']])(
  '%s is refused for what it is',
  async (line) => {
    const read = readCommandLine(line.split(' '), from);

    await expect(read).rejects.toThrow(/^"(?:docker|podman) \w+" does not start a server/);
  },
);
