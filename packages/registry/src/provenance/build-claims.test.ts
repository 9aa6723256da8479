import { expect, test } from 'vitest';
import { isSameRepository } from './build-claims.ts';

const proven = 'https://github.com/example/server';

test.each([
  'https://github.com/example/server',
  'https://github.com/example/server/',
  'https://github.com/example/server.git',
  'git+https://github.com/example/server.git',
  'https://github.com/example/server/tree/main/src/server',
])('%s names the repository', (text) => {
  expect(isSameRepository(proven, text)).toBe(true);
});

test.each([
  ['an owner in other case', 'https://github.com/Example/server'],
  ['a repository in other case', 'https://github.com/example/Server'],
  ['a suffix of the name', 'https://github.com/example/server-evil'],
  ['a suffix behind .git', 'https://github.com/example/server.git.evil'],
  ['another owner', 'https://github.com/evil/server'],
  ['another host', 'https://github.com.evil.example/example/server'],
  ['the host as a user name', 'https://github.com@evil.example/example/server'],
  ['no URL', 'example/server'],
  ['another scheme', 'javascript://github.com/example/server'],
])('a repository with %s is another one', (_name, text) => {
  expect(isSameRepository(proven, text)).toBe(false);
});
