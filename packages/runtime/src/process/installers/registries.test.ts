import { expect, test } from 'vitest';
import { netrcFor, originsIn } from './registries.ts';

test('finds the registries among settings', () => {
  const origins = originsIn([
    'https://registry.example.com/npm/',
    'https://user:password@index.example.com:8443/simple',
    'http://[::1]:4873/',
    'https://proxy.example.org,direct|off',
    undefined,
    'no URL at all',
  ]);

  expect([...origins]).toEqual([
    'registry.example.com:443',
    'index.example.com:8443',
    '::1:4873',
    'proxy.example.org:443',
  ]);
});

test('hands over the credentials of the registries and no others', () => {
  const netrc = [
    'machine index.example.com login reader password secret',
    'machine github.com\n  login me\n  password token',
    'default login anybody password anything',
  ].join('\n');

  const kept = netrcFor(netrc, new Set(['index.example.com:443']));

  expect(kept).toBe('machine index.example.com login reader password secret\n');
});
