import { expect, test } from 'vitest';
import { parseSource } from '../../source.ts';
import type { PackageSource } from '../../source.ts';
import { packageNotFound, versionNotFound } from './missing-package.ts';

test.each([
  ['npx://mcp-server-fetch', 'sign in with npm login. If it is a Python package, use uvx://mcp-server-fetch'],
  ['npx://@example/server', 'if the package is private, sign in with npm login'],
  ['uvx://server-memory', 'if it is an npm package, use npx://server-memory'],
  ['go://example.com/server', 'that of the main package'],
])('%s has a hint about where else it can be', (text, hint) => {
  const { message, hint: told = '' } = packageNotFound(parseSource(text) as PackageSource);

  expect(message).toMatch(/^package \S+ not found$/);
  expect(told.toLowerCase()).toContain(hint.toLowerCase());
  expect(told.includes('uvx://@')).toBe(false);
});

test('a version that was asked for can be omitted, one of a dependency cannot', () => {
  const source = parseSource('npx://@example/server@9.0.0') as PackageSource;

  expect(versionNotFound(source, '9.0.0').hint).toBe('omit the version to get the newest one');
  expect(versionNotFound(source, '^2', 'other').hint).toBeUndefined();
  expect(versionNotFound({ ...source, version: undefined }, 'latest').hint).toBeUndefined();
});
