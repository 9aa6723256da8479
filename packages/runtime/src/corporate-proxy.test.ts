import { expect, test } from 'vitest';
import { corporateProxyFor, nameOfProxy } from './corporate-proxy.ts';

const proxies = {
  HTTPS_PROXY: 'http://proxy:3128',
  http_proxy: 'proxy:8080',
  NO_PROXY:
    'intern.example, .corp:443;*.lan 10.0.0.0/8,192.0.2.7,[2001:db8::1]:443,2001:db8:1::/48,::1,Upper.Example.',
};

test.each([
  ['registry.example.com', 443, false, 'http://proxy:3128'],
  ['registry.example.com', 80, true, 'http://proxy:8080'],
  ['intern.example', 443, false, undefined],
  ['npm.intern.example', 443, false, undefined],
  ['notintern.example', 443, false, 'http://proxy:3128'],
  ['npm.corp', 443, false, undefined],
  ['npm.corp', 8443, false, 'http://proxy:3128'],
  ['printer.lan', 443, false, undefined],
  ['upper.example', 443, false, undefined],
  ['INTERN.example.', 443, false, undefined],
  ['10.1.2.3', 443, false, undefined],
  ['11.1.2.3', 443, false, 'http://proxy:3128'],
  ['192.0.2.7', 443, false, undefined],
  ['2001:db8::1', 443, false, undefined],
  ['2001:db8::1', 8443, false, 'http://proxy:3128'],
  ['2001:db8:1::5', 8443, false, undefined],
  ['localhost', 443, false, undefined],
  ['127.0.0.2', 443, false, undefined],
  ['::1', 443, false, undefined],
])('the corporate proxy for %s:%i', (host, port, isHttp, proxy) => {
  expect(corporateProxyFor({ host, port, isHttp }, proxies)).toBe(proxy);
});

test.each([
  [{ ALL_PROXY: 'socks5h://user:word@proxy:1080' }, 'socks5://user:word@proxy:1080'],
  [{ all_proxy: 'http://proxy:1', HTTPS_PROXY: 'http://proxy:2' }, 'http://proxy:2'],
  [{ https_proxy: 'http://proxy:1', HTTPS_PROXY: 'http://proxy:2' }, 'http://proxy:1'],
  [{ HTTPS_PROXY: ' https://proxy.example/ ' }, 'https://proxy.example'],
  [{ HTTPS_PROXY: '' }, undefined],
  [{ HTTPS_PROXY: 'http://proxy', NO_PROXY: '*' }, undefined],
])('with %o, the proxy is %s', (env, proxy) => {
  expect(corporateProxyFor({ host: 'example.com', port: 443, isHttp: false }, env)).toBe(proxy);
});

test.each([
  ['http://', 'the variable HTTPS_PROXY is not the URL of a proxy'],
  ['http://proxy:port', 'the variable HTTPS_PROXY is not the URL of a proxy'],
  ['socks4://proxy:1080', 'the variable HTTPS_PROXY names a proxy for socks4://'],
  ['file:///etc/proxy.pac', 'the variable HTTPS_PROXY is not the URL of a proxy'],
])('a variable with %s is an error that names the variable', (value, message) => {
  const find = (): unknown =>
    corporateProxyFor({ host: 'example.com', port: 443, isHttp: false }, { HTTPS_PROXY: value });

  expect(find).toThrow(message);
});

test('the name of a proxy does not contain its password', () => {
  expect(nameOfProxy('http://user:word@proxy:3128')).toBe('http://proxy:3128');
});
