import { expect, test } from 'vitest';
import { credentialWarning, withReferences } from './credentials.ts';
import { commandText } from './run-command.ts';

const canary = 'not-a-real-token';

test.each<[string, string[]]>([
  ['a flag and its value', ['--api-key', canary]],
  ['a flag with its value', [`--access-token=${canary}`]],
  ['a short assignment', [`API_KEY=${canary}`]],
  ['a header', ['--header', `Authorization:Bearer ${canary}`]],
  ['a header after a space', ['--header', `X-Api-Key: ${canary}`]],
  ['a token of a service', [`ghp_${canary}`]],
  ['a JSON object', ['--headers', `{"Authorization": "Bearer ${canary}"}`]],
  ['a connection string', ['--dsn', `postgres://user:${canary}@host/db`]],
])('shows no credential in arguments: %s', (_title, cmd_arguments) => {
  const shown = commandText(withReferences({ image: 'npx://server', cmd_arguments }));

  expect(shown).toContain('***');
  expect(shown).not.toContain(canary);
});

test.each([
  [['--mode', 'fast', '--max-tokens', '4096']],
  [['--api-key', '${API_KEY}']],
  [['--api-key={env:KEY}', '/data', 'https://example.com/x?y=z']],
])('shows all other arguments: %j', (cmd_arguments) => {
  const shown = withReferences({ image: 'npx://server', cmd_arguments });

  expect(shown.cmd_arguments).toEqual(cmd_arguments);
});

test('shows no credential in a URL', () => {
  const shown = commandText(withReferences({ url: `https://mcp.example.com/mcp?api_key=${canary}&page=1` }));

  expect(shown).toBe("thv run 'https://mcp.example.com/mcp?api_key=***&page=1'");
});

test('stores a variable whose JSON contains a credential', () => {
  const env_vars = { HEADERS: `{"Authorization": "Bearer ${canary}"}` };

  const warning = credentialWarning({ name: 'x', image: 'npx://server', env_vars });

  expect(warning).toContain('thv secret set x-HEADERS');
  expect(warning).not.toContain(canary);
});
