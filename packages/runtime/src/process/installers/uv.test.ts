import { expect, test } from 'vitest';
import { chooseExecutable, uvFailure } from './uv.ts';

test('the executable named like the package is the server, however it is spelled', () => {
  expect(chooseExecutable('mcp-server-time', ['mcp', 'mcp_server_time'])).toBe('mcp_server_time');
});

test('the only executable is the server', () => {
  expect(chooseExecutable('mcp-server-time', ['start'])).toBe('start');
});

test('none is guessed among several', () => {
  expect(() => chooseExecutable('mcp-server-time', ['one', 'two'])).toThrow(
    expect.objectContaining({ kind: 'unsupported', hint: expect.stringContaining('one, two') }),
  );
});

test.each([
  ['Because x was not found in the package registry and you require x', 'not-found', 'package x not found'],
  [
    'Because there is no version of x==9 and you require x==9',
    'not-found',
    'version 9 of package x not found',
  ],
  [
    'Because all versions of x have no usable wheels',
    'unsupported',
    'package x has no wheel for this machine',
  ],
  [
    'error: Failed to fetch: https://index/x/\n  cause: dns error',
    'unavailable',
    'cannot reach the package registry: Failed to fetch: https://index/x/',
  ],
  ['error: disk full\n  cause: more', 'unavailable', 'uv could not install x: disk full'],
])('%j is %s: %s', (stderr, kind, message) => {
  const failure = uvFailure({ kind: 'package', scheme: 'uvx', name: 'x', version: '9' }, { stderr });

  expect(failure).toMatchObject({ kind, message });
});
