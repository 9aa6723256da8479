import { expect, test } from 'vitest';
import { corporateProxyFor } from '../../corporate-proxy.ts';
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

const proxies = {
  HTTPS_PROXY: 'http://proxy:3128',
  http_proxy: 'proxy:8080',
  NO_PROXY: 'intern.example, .corp:443',
};

test.each([
  ['registry.example.com', 443, false, 'http://proxy:3128'],
  ['registry.example.com', 80, true, 'http://proxy:8080'],
  ['intern.example', 443, false, undefined],
  ['npm.intern.example', 443, false, undefined],
  ['npm.corp', 443, false, undefined],
  ['npm.corp', 8443, false, 'http://proxy:3128'],
  ['localhost', 443, false, undefined],
  ['127.0.0.2', 443, false, undefined],
])('the corporate proxy for %s:%i', (host, port, isHttp, proxy) => {
  expect(corporateProxyFor({ host, port, isHttp }, proxies)).toBe(proxy);
});
