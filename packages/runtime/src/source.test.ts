import { describe, expect, test } from 'vitest';
import { formatSource, parseSource } from './source.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const repository = 'https://git.example.com/owner/repo';

describe('a package in a Git repository', () => {
  test.each([
    [`uvx://git+${repository}`, { url: repository }],
    [`uvx://git+${repository}.git@v1.2.0`, { url: `${repository}.git`, ref: 'v1.2.0' }],
    [`uvx://git+${repository}@feature/new`, { url: repository, ref: 'feature/new' }],
    [
      `uvx://git+${repository}@main#subdirectory=packages/server`,
      { url: repository, ref: 'main', subdirectory: 'packages/server' },
    ],
    [`uvx://git+${repository}#egg=server&subdirectory=src`, { url: repository, subdirectory: 'src' }],
    [`uvx://server @ git+${repository}@main`, { url: repository, ref: 'main' }],
    ['npx://github:owner/repo', { url: 'https://github.com/owner/repo' }],
    ['npx://owner/repo', { url: 'https://github.com/owner/repo' }],
    ['npx://owner/repo#dev', { url: 'https://github.com/owner/repo', ref: 'dev' }],
    ['npx://gitlab:owner/repo#semver:^1.2', { url: 'https://gitlab.com/owner/repo', ref: 'semver:^1.2' }],
    ['npx://https://github.com/owner/repo', { url: 'https://github.com/owner/repo' }],
    [`npx://${repository}.git#v2`, { url: `${repository}.git`, ref: 'v2' }],
    ['npx://git+ssh://git@github.com/owner/repo.git', { url: 'https://github.com/owner/repo.git' }],
    ['npx://git@github.com:owner/repo.git', { url: 'https://github.com/owner/repo.git' }],
    [
      'npx://owner/repo#main::path:packages/server',
      { url: 'https://github.com/owner/repo', ref: 'main', subdirectory: 'packages/server' },
    ],
    ['npx://git+http://127.0.0.1:8000/repo', { url: 'http://127.0.0.1:8000/repo' }],
  ])('is named by %s', (text, git) => {
    const source = parseSource(text);

    expect(source).toMatchObject({ git, name: `git+${git.url}` });
    expect(source).not.toHaveProperty('version');
    expect(parseSource(formatSource(source))).toEqual(source);
  });

  test.each([
    [`uvx://git+${repository}@${COMMIT}`, {}],
    [`npx://owner/repo#${COMMIT}`, {}],
    [`uvx://git+${repository}@${COMMIT}#ref=main&program=start`, { program: 'start' }],
    [`uvx://git+${repository}[cli]@${COMMIT}`, { extras: ['cli'] }],
    [`uvx://server[cli,a] @ git+${repository}@${COMMIT}`, { extras: ['a', 'cli'] }],
  ])('is pinned to its commit by %s', (text, more) => {
    const source = parseSource(text);

    expect(source).toMatchObject({ version: COMMIT, ...more });
    expect(parseSource(formatSource(source))).toEqual(source);
  });

  test.each([
    ['uvx://git+ssh://git@git.example.com/owner/repo', 'uses ssh'],
    ['uvx://git+file:///home/ada/repo', 'uses file'],
    ['uvx://git+http://git.example.com/owner/repo', 'uses http'],
    ['npx://git://git.example.com/owner/repo', 'uses git'],
    ['npx://git+ext::sh -c id', 'uses ext'],
    ['npx://git@git.example.com:owner/repo', 'not the URL of a Git repository'],
    [`uvx://git+${repository}@--upload-pack=id`, 'is not a branch, a tag, or a commit'],
    [`uvx://git+${repository}@a..b`, 'is not a branch, a tag, or a commit'],
    [`uvx://git+${repository}#subdirectory=../other`, 'is not a directory in a Git repository'],
    [`uvx://git+${repository}#subdirectory=.git/hooks`, 'is not a directory in a Git repository'],
    [`uvx://git+${repository}#subdirectory=a&program=../x`, 'is not the name of a program'],
    [`uvx://git+${repository}#sub=a`, 'unknown part "sub"'],
    [`uvx://git+${repository}?x=y`, 'not the URL of a Git repository'],
  ])('is refused as %s', (text, message) => {
    expect(() => parseSource(text)).toThrow(message);
  });

  test('is refused with a credential in its URL, which the error does not repeat', () => {
    const parse = () => parseSource('uvx://git+https://oauth2:glpat-SECRET@git.example.com/owner/repo');

    expect(parse).toThrow('contains a user name or a password');
    expect(parse).not.toThrow('SECRET');
  });
});

describe('a package of a package registry', () => {
  test.each([
    ['uvx://huggingface_hub[mcp]', { name: 'huggingface_hub', extras: ['mcp'] }],
    ['uvx://mcp[cli,rich]@>=1.2,<2', { name: 'mcp', extras: ['cli', 'rich'], version: '>=1.2,<2' }],
    ['uvx://server@~=1.2', { name: 'server', version: '~=1.2' }],
    ['uvx://server@!=1.2.1', { name: 'server', version: '!=1.2.1' }],
    ['npx://@scope/server@>=1 <2 || ^3', { name: '@scope/server', version: '>=1 <2 || ^3' }],
    ['uvx://huggingface_hub[mcp]@1.0#program=tiny-agents', { program: 'tiny-agents', version: '1.0' }],
    ['npx://@scope/tools#program=server', { name: '@scope/tools', program: 'server' }],
    ['uvx:///srv/my tools#program=serve-http', { name: '/srv/my tools', program: 'serve-http' }],
    [
      'uvx:///srv/x@local-0123456789abcdef#program=serve',
      { name: '/srv/x', version: 'local-0123456789abcdef', program: 'serve' },
    ],
    ['uvx:///srv/c#sharp', { name: '/srv/c#sharp' }],
  ])('is named by %s', (text, expected) => {
    const source = parseSource(text);

    expect(source).toMatchObject(expected);
    expect(source).not.toHaveProperty('git');
    expect(parseSource(formatSource(source))).toEqual(source);
  });

  test.each([
    ['npx://server[extra]', 'is not the extra of a package for npx://'],
    ['uvx://server[../x]', 'is not the extra of a package'],
    ['uvx://server#program=src/server.py', 'is not the name of a program of a package'],
    ['go://example.com/server#program=x', 'unknown part "program"'],
    ['uvx:///srv/tools#program=', 'is not the name of a program of a package'],
    ['npx:///srv/tools#program=x', 'cannot choose a program in a directory'],
  ])('is refused as %s', (text, message) => {
    expect(() => parseSource(text)).toThrow(message);
  });
});

test('a WebSocket URL is refused with what to use instead', () => {
  expect(() => parseSource('wss://mcp.example.com/mcp')).toThrow(
    expect.objectContaining({ hint: expect.stringContaining('streamable HTTP or SSE') }),
  );
});
