import { expect, test } from 'vitest';
import { isGitSpec, parseGit } from './git-source.ts';

test('the slashes at the end of a repository make no difference', () => {
  expect(parseGit('git+https://git.example/a/b//').place.url).toBe('https://git.example/a/b');
});

test('an address with very many slashes is read in time', { timeout: 60_000 }, () => {
  const address = `git+https://git.example${'/'.repeat(400_000)}b`;

  expect(parseGit(address).place.url).toBe(address.slice('git+'.length));
});

test('a name before very many spaces is read in time', { timeout: 60_000 }, () => {
  expect(isGitSpec(`name${' '.repeat(400_000)}x`)).toBe(false);
});
