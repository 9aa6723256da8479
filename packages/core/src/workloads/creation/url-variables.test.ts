import { expect, test } from 'vitest';
import { RegistryRemoteServer } from '@toolhive/contract/registry';
import { filledUrl } from './url-variables.ts';

const entry = {
  ...RegistryRemoteServer.parse({
    description: 'x',
    url: 'https://{tenant}.example.com/{region}/mcp',
    transport: 'streamable-http',
    url_variables: [
      { name: 'tenant', description: 'your tenant' },
      { name: 'region', description: '', default: 'eu', choices: ['eu', 'us'] },
    ],
  }),
  name: 'listed',
};

test.each([
  [{ tenant: 'acme' }, 'https://acme.example.com/eu/mcp'],
  [{ tenant: 'a.b-c_1', region: 'us' }, 'https://a.b-c_1.example.com/us/mcp'],
])('a URL of an entry is filled with %j', (given, url) => {
  expect(filledUrl(entry, given)).toBe(url);
});

test.each<Record<string, string>>([{}, { tenant: '' }, { region: 'us' }])(
  'a URL without a value says which is missing: %j',
  (given) => {
    expect(() => filledUrl(entry, given)).toThrow(
      expect.objectContaining({
        message: 'listed needs tenant',
        hint: 'add --url-variable tenant=VALUE (your tenant)',
      }),
    );
  },
);

test.each([
  'evil.example/',
  'a/b',
  'a?b',
  'a#b',
  'a@b',
  'a:1',
  '..',
  'a..b',
  '{region}',
  '%2f',
  'a b',
  'a\\b',
  'ä',
])('a value never changes the rest of the URL: %s', (tenant) => {
  expect(() => filledUrl(entry, { tenant })).toThrow('the value of tenant cannot be a part of the URL');
});

test('a value is one of the choices, and never one of the prototype', () => {
  expect(() => filledUrl(entry, { tenant: 'acme', region: 'mars' })).toThrow('the value of region');
  expect(() =>
    filledUrl(
      {
        ...entry,
        url: 'https://{constructor}.example.com',
        url_variables: [{ name: 'constructor', description: '' }],
      },
      {},
    ),
  ).toThrow('listed needs constructor');
});
