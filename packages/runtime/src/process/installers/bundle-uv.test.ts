import { describe, expect, test } from 'vitest';
import { readUvRun } from './bundle-uv.ts';

describe('the packages that a bundle wants beside its script', () => {
  test('have several version limits, extras, and blanks', () => {
    const options = ['--with', 'fastmcp>=2.0,<4', '--with', 'mcp[cli,ws] >= 1,httpx', '--with=lxml>=5.0'];

    const run = readUvRun('legal', ['run', '--python', '3.12', ...options, '${__dirname}/server/run.py']);

    expect(run.with).toEqual(['fastmcp>=2.0,<4', 'mcp[cli,ws]>=1', 'httpx', 'lxml>=5.0']);
    expect(run).toMatchObject({ python: '3.12', script: 'server/run.py' });
  });

  test.each(['git+https://example.com/a', 'a @ https://example.com/a.whl', '/etc/a', '--index-url=x', 'a;b'])(
    'are none at another place: %s',
    (text) => {
      const read = (): unknown => readUvRun('legal', ['run', '--with', text, 'run.py']);

      expect(read).toThrow('the bundle legal starts uv with');
    },
  );
});
