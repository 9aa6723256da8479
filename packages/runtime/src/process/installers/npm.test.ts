import { describe, expect, test } from 'vitest';
import type { PackageSource } from '../../source.ts';
import { chooseBin, npmFailure, npmInstaller, scriptFailure, scriptHint } from './npm.ts';

const source: PackageSource = { kind: 'package', scheme: 'npx', name: '@scope/server', version: '^9' };

describe('the program of a package', () => {
  test.each([
    ['the only one, whatever its name', { 'mcp-start': 'dist/start.js' }, 'dist/start.js'],
    ['the one without a name of its own', 'dist/main.js', 'dist/main.js'],
    ['the one file with two names', { a: './dist/index.js', b: 'dist/index.js' }, 'dist/index.js'],
    ['the one named like the package', { cli: 'cli.js', server: 'server.js' }, 'server.js'],
  ])('is %s', (_name, bin, expected) => {
    expect(chooseBin(source, bin)).toBe(expected);
  });

  test('is not guessed among several', () => {
    const bin = { cli: 'cli.js', http: 'http.js' };

    expect(() => chooseBin(source, bin)).toThrow(
      expect.objectContaining({ kind: 'unsupported', hint: expect.stringContaining('cli, http') }),
    );
  });

  test('is the one that the user names', () => {
    const bin = { cli: 'cli.js', server: 'server.js' };

    expect(chooseBin({ ...source, program: 'cli' }, bin)).toBe('cli.js');
  });

  test.each([
    ['several', { cli: 'cli.js', server: 'server.js' }],
    ['one', { server: 'server.js' }],
  ])(
    'is not replaced by another one when the package has %s, but not the one that the user names',
    (_name, bin) => {
      expect(() => chooseBin({ ...source, program: 'http' }, bin)).toThrow(
        'package @scope/server has no program http',
      );
    },
  );

  test.each([[undefined], [{}], [null], [{ server: 7 }]])('is missing in %j', (bin) => {
    expect(() => chooseBin(source, bin)).toThrow('package @scope/server has no program to run');
  });
});

describe('an error of npm', () => {
  test.each([
    ['E404', 'Not Found - GET https://registry/x', 'not-found', 'package @scope/server not found'],
    ['E404', 'No match found for version ^9', 'not-found', 'version ^9 of package @scope/server not found'],
    ['ETARGET', 'No matching version', 'not-found', 'version ^9 of package @scope/server not found'],
    [
      'ETARGET',
      'No matching version found for other@^7.',
      'not-found',
      'version ^7 of package other, which @scope/server depends on, not found',
    ],
    [
      'E404',
      "404 Not Found\n'@scope/other@1' is not in this registry",
      'not-found',
      'package @scope/other, which @scope/server depends on, not found',
    ],
    [
      'ENOTFOUND',
      'request to https://registry failed',
      'unavailable',
      'cannot reach the package registry: request to https://registry failed',
    ],
    [
      'ECONNREFUSED',
      'FetchError: connect ECONNREFUSED',
      'unavailable',
      'cannot reach the package registry: connect ECONNREFUSED',
    ],
    ['ENOSPC', 'write', 'unavailable', 'no space left to install @scope/server'],
    [
      'EACCES',
      'permission denied, mkdir /cache\n    at stack',
      'unavailable',
      'npm could not install @scope/server: permission denied, mkdir /cache',
    ],
  ])('%s (%s) is %s: %s', (code, summary, kind, message) => {
    const failure = npmFailure(source, { stdout: JSON.stringify({ error: { code, summary } }), stderr: '' });

    expect(failure).toMatchObject({ kind, message });
  });

  test('that is not JSON still gives its one useful line', () => {
    const stderr =
      'npm error code EUSAGE\nnpm error errno 7\nnpm error the tarball is corrupt\nnpm error at stack';

    const failure = npmFailure(source, { stdout: '', stderr });

    expect(failure.message).toBe('npm could not install @scope/server: the tarball is corrupt');
  });
});

test.each([
  ['1.2.3', true],
  ['1.2.3-beta.1', true],
  ['1.2', false],
  ['^1.2.3', false],
  ['latest', false],
  [undefined, false],
])('version %s is exact: %s', (version, expected) => {
  const { version: _, ...rest } = source;
  const asked = version === undefined ? rest : { ...rest, version };

  expect(npmInstaller.isPinned(asked)).toBe(expected);
});

test.each([
  [
    'Package libsecret-1 was not found in the pkg-config search path.\nPerhaps you should add the directory\ngyp ERR! configure error',
    'libsecret-1',
  ],
  ["Package 'pixman-1', required by 'virtual:world', not found\ngyp ERR! configure error", 'pixman-1'],
  ['compiling\nPackage vips-cpp was not found in the pkg-config search path.\nnpm error code 1', 'vips-cpp'],
])('a script names the library that it did not find in %j', async (stderr, library) => {
  const result = { code: 1, stdout: '', stderr };

  expect(scriptFailure(result)).toContain(library);
  expect(await scriptHint(result, undefined)).toContain(`contains ${library}.pc`);
});
