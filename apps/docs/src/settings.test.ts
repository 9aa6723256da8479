import { expect, test } from 'vitest';
import { settingsFrom } from '../site.ts';

const service = { DOCS_SEARCH_APP: 'app', DOCS_SEARCH_KEY: 'key', DOCS_SEARCH_INDEX: 'docs' };

test('without variables the site searches itself, with all of them a service does', () => {
  const [none, all] = [settingsFrom({}), settingsFrom(service)];

  expect(none.search).toBe(undefined);
  expect(all.search).toEqual({ appId: 'app', apiKey: 'key', indexName: 'docs', assistantId: undefined });
});

test.each([
  [{ ...service, DOCS_SEARCH_KEY: '' }, 'hosted search needs DOCS_SEARCH_KEY, too'],
  [
    { DOCS_SEARCH_ASSISTANT: 'helper' },
    'hosted search needs DOCS_SEARCH_APP and DOCS_SEARCH_KEY and DOCS_SEARCH_INDEX, too',
  ],
])('a service that is half named ends the build and says what is missing: %j', (env, message) => {
  expect(() => settingsFrom(env)).toThrow(message);
});

test('a place where the project can be met has no address unless a variable names one', () => {
  const [none, one] = [settingsFrom({ DOCS_CHAT: '' }), settingsFrom({ DOCS_CHAT: 'https://chat.example' })];

  expect(none.places).toEqual({});
  expect(one.places).toEqual({ chat: 'https://chat.example' });
});

test.each(['javascript:alert(1)', 'chat.example'])('a place at %s ends the build', (address) => {
  expect(() => settingsFrom({ DOCS_SOCIAL: address })).toThrow(
    `DOCS_SOCIAL is not a web address: ${address}`,
  );
});
