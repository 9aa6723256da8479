import { expect, test } from 'vitest';
import { commandText } from './run-command.ts';

test('the command limits the tools as its request does', () => {
  expect(commandText({ image: 'npx://server', tools: ['read', 'list all'] })).toBe(
    "thv run --tools read --tools 'list all' npx://server",
  );
});

test('the command signs in as its request does', () => {
  const oauth_config = {
    client_id: 'abc',
    authorize_url: 'https://example.com/authorize',
    token_url: 'https://example.com/token',
    scopes: ['read', 'write'],
    callback_port: 8765,
    resource: 'https://example.com/mcp',
  };
  expect(commandText({ url: 'https://example.com/mcp', oauth_config })).toBe(
    [
      'thv run',
      '--remote-auth-client-id abc',
      '--remote-auth-authorize-url https://example.com/authorize',
      '--remote-auth-token-url https://example.com/token',
      '--remote-auth-scopes read --remote-auth-scopes write',
      '--remote-auth-callback-port 8765',
      '--remote-auth-resource https://example.com/mcp',
      'https://example.com/mcp',
    ].join(' '),
  );
});

test('the command sends the headers of its request, and names secrets instead of their values', () => {
  const header = (name: string, value: string, secret = false) => ({
    name,
    description: '',
    required: true,
    secret,
    default: value,
  });
  const headers = [header('X-Team', 'red'), header('Authorization', 'wiki-token,target=Authorization', true)];

  expect(commandText({ url: 'https://example.com/mcp', headers })).toBe(
    'thv run --remote-forward-headers X-Team=red --remote-forward-headers-secret Authorization=wiki-token https://example.com/mcp',
  );
});
