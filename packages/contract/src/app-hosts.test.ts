import { expect, test } from 'vitest';
import { isAppHost } from './app-hosts.ts';

test.for([
  'https://example.com',
  'wss://a.b-c.example.co.uk:8443',
  'https://*.example.com',
  'https://xn--bcher-kva.example',
])('allows %s', (text) => {
  expect(isAppHost(text)).toBe(true);
});

test.for([
  'http://example.com', // others on the network could read and change it
  'https://example.com/',
  'https://example.com/path',
  'https://user@example.com',
  'https://EXAMPLE.com',
  "https://example.com; script-src 'unsafe-eval'",
  'https://example.com https://other.example',
  'https://example.com"',
  'https://example.com\nx: y',
  'https://localhost',
  'https://app.localhost:8080',
  'https://printer.local',
  'https://db.internal',
  'https://127.0.0.1',
  'https://127.1',
  'https://0x7f.1',
  'https://[::1]',
  'https://router',
  'https://*',
  'https://*.com',
  'https://*.*.example.com',
  'https://example.com.',
  'https:',
  '*',
  "'self'",
  'data:',
])('refuses %j', (text) => {
  expect(isAppHost(text)).toBe(false);
});
