import { expect, test } from 'vitest';
import type { PackageSource } from '../../source.ts';
import { chooseExecutable, uvFailure } from './uv.ts';

const time: PackageSource = { kind: 'package', scheme: 'uvx', name: 'mcp-server-time' };

test('the executable that the user names is the server', () => {
  const programs = ['mcp_server_time', 'tiny-agents', 'hf'];

  expect(chooseExecutable({ ...time, program: 'tiny-agents' }, programs)).toBe('tiny-agents');
  expect(chooseExecutable({ ...time, program: 'hf' }, programs)).toBe('hf');
});

test('an executable that the user names is not replaced by the only one', () => {
  expect(() => chooseExecutable({ ...time, program: 'other' }, ['start'])).toThrow(
    expect.objectContaining({
      message: 'package mcp-server-time has no program other',
      hint: 'the package has start. Choose one, for example uvx://mcp-server-time#program=start',
    }),
  );
});

test('the executable named like the package is the server, however it is spelled', () => {
  expect(chooseExecutable(time, ['mcp', 'mcp_server_time'])).toBe('mcp_server_time');
});

test('the only executable is the server', () => {
  expect(chooseExecutable(time, ['start'])).toBe('start');
});

test.each([
  ['looks like a server', ['a-agent', 'a-mcp', 'a-mcp-login'], 'a-mcp'],
  ['ends like its package', ['a-setup', 'a-core', 'a-time'], 'a-time'],
  ['prepares nothing', ['a-setup', 'a-core'], 'a-core'],
])('the example of several programs is the one that %s', (_, programs, example) => {
  const end = `for example uvx://mcp-server-time#program=${example}`;

  expect(() => chooseExecutable(time, programs)).toThrow(
    expect.objectContaining({ hint: expect.stringMatching(new RegExp(`${end}$`)) }),
  );
});

test('none is guessed among several', () => {
  expect(() => chooseExecutable(time, ['one', 'two'])).toThrow(
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
    'Because needed was not found in the package registry and x depends on needed',
    'not-found',
    'package needed, which x depends on, not found',
  ],
  [
    '  × Failed to build `needed==1.0`\n  ├─▶ The build backend returned an error\n      [stderr]\n      error: command gcc failed\n      x.c:1:10: fatal error: ffi.h: No such file\n',
    'unsupported',
    'package needed could not be built from source: x.c:1:10: fatal error: ffi.h: No such file',
  ],
  [
    '  × No solution found when resolving tool dependencies:\n  ╰─▶ Because x depends on a>2 and only a<=2 is\n      available, x cannot be used.',
    'unavailable',
    'uv could not install x: No solution found when resolving tool dependencies: Because x depends on a>2 and only a<=2 is available, x cannot be used.',
  ],
  [
    'error: Failed to fetch: https://index/x/\n  cause: dns error',
    'unavailable',
    'cannot reach the package registry: Failed to fetch: https://index/x/: dns error',
  ],
  ['error: Failed to install entrypoints for `x`', 'unsupported', 'package x has no program to run'],
  [
    "error: No solution found\nhint: `y` was requested with a pre-release marker, but pre-releases weren't enabled (try: `--prerelease=allow`)",
    'not-found',
    'x needs a pre-release: No solution found',
  ],
  ['error: disk full\n  cause: more', 'unavailable', 'uv could not install x: disk full: more'],
])('%j is %s: %s', (stderr, kind, message) => {
  const failure = uvFailure({ kind: 'package', scheme: 'uvx', name: 'x', version: '9' }, { stderr });

  expect(failure).toMatchObject({ kind, message });
});

test.each([
  [undefined, 'package x has no version from 2025-05-20 or before'],
  ['9', 'version 9 of package x was published after 2025-05-20'],
])('a version that is too new for the chosen day is told from a missing one (%s)', (version, message) => {
  const source: PackageSource = {
    kind: 'package',
    scheme: 'uvx',
    name: 'x',
    version,
    options: { excludeNewer: '2025-05-20' },
  };
  const problem =
    'error: No solution found when resolving dependencies\n  cause: Because there are no versions of x and you require x';
  const stderr = `${problem}\n\nhint: \`x\` was filtered by \`exclude-newer\` to only include packages uploaded before 2025-05-21T00:00:00Z. The latest version satisfying the requirement is v0.0.1, published at 2025-08-04T09:44:49.755Z.`;

  expect(uvFailure(source, { stderr })).toMatchObject({
    kind: 'not-found',
    message,
    hint: 'choose a later day with --exclude-newer, such as 2025-08-04',
  });
  expect(uvFailure(source, { stderr: problem }).message).toContain('not found');
});
