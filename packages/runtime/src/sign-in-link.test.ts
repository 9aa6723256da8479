import { expect, test } from 'vitest';
import { SignInLinks } from './sign-in-link.ts';

/** What is told about pieces of output. */
function told(published: number[], ...pieces: string[]): { reports: string[]; warnings: string[] } {
  const reports: string[] = [];
  const warnings: string[] = [];
  const links = new SignInLinks(published, {
    report: (text) => reports.push(text),
    warn: (text) => warnings.push(text),
  });
  for (const piece of pieces) links.look(Buffer.from(piece));
  return { reports, warnings };
}

const page = (redirect: string, more = ''): string =>
  `https://login.example/authorize?scope=a&redirect_uri=${encodeURIComponent(redirect)}${more}`;

test.each([
  'http://localhost:3500/oauth2callback',
  'http://127.0.0.1:3500',
  'http://[::1]:3500/',
  'https://localhost:3500/x',
])('the page that leads back to a published port is reported: %s', (redirect) => {
  expect(told([3500], `Open this:\n${page(redirect)}\nand sign in`)).toEqual({
    reports: [`the server asks you to sign in at ${page(redirect)}`],
    warnings: [],
  });
});

test('a page that leads to another port brings the flag, once for each port', () => {
  const first = page('http://localhost:3000/', '&state=1');
  const second = page('http://localhost:3000/', '&state=2');

  expect(told([3500], first, second)).toEqual({
    reports: [],
    warnings: [expect.stringContaining('run it with --publish 3000')],
  });
});

test('an address in JSON ends where its string ends, and no control character is shown', () => {
  const message = JSON.stringify({ text: `go to ${page('http://localhost:3500/')}`, other: true });
  const nested = JSON.stringify({ text: message });
  const colored = `\u001b[34m${page('http://localhost:3500/', '\u001b[0m')}`;

  expect(told([3500], message, nested, colored).reports).toEqual([
    `the server asks you to sign in at ${page('http://localhost:3500/')}`,
  ]);
});

test.each([
  ['another machine', page('http://app.example:3500/')],
  ['a name that begins alike', page('http://localhost.example:3500/')],
  ['no port', page('http://localhost/callback')],
  ['a port of the system', page('http://localhost:80/callback')],
  ['no page', 'redirect_uri=http://localhost:3500/'],
  ['an unencrypted page', page('http://localhost:3500/').replace('https:', 'http:')],
])('nothing is told about an address with %s', (_what, text) => {
  expect(told([3500], text)).toEqual({ reports: [], warnings: [] });
});

test('a server that writes many pages and ports does not fill the terminal, nor take much time', () => {
  const many = Array.from({ length: 100 }, (_, index) => page(`http://localhost:${4000 + index}/`));
  const flood = `${'https://'.repeat(10_000)}redirect_uri=`;

  const { reports, warnings } = told([4000], flood, ...many);

  expect([...reports, ...warnings]).toHaveLength(5);
});
