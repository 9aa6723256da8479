import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRunnable, runCommand } from './testing/command-runner.ts';
import { thvStart } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

// Commands of tests share processes. What they do must not depend on this.

let user: User;

beforeAll(async () => {
  user = await openUsedHomes().take();
  await user.mustThv('list');
});
afterAll(() => user?.[Symbol.asyncDispose]());

test.each([
  [['version']],
  [['list', '--format', 'json']],
  [['run', '--help']],
  [['logs', 'no-such-workload']],
  [['no-such-command', '--format', 'json']],
])('%j prints and ends as in a process of its own', async (words) => {
  const alone = spawnSync(process.execPath, [...thvStart, ...words], { env: user.env, encoding: 'utf8' });

  const shared = await runCommand({ words, env: user.env });

  expect(shared).toEqual({ code: alone.status, stdout: alone.stdout, stderr: alone.stderr });
});

test('a command has only its own environment, and the exit code of none before', async () => {
  const coloured = await runCommand({ words: ['list', '-x'], env: { ...user.env, FORCE_COLOR: '1' } });
  const home = '/dev/null/home'; // no user can write there
  const lost = await runCommand({ words: ['group', 'list'], env: { PATH: '/nowhere', HOME: home } });
  const plain = await runCommand({ words: ['group', 'list'], env: user.env });

  expect(coloured.code).toBe(2);
  expect(lost).toMatchObject({ stdout: '', stderr: expect.stringContaining(home) });
  expect(lost.code).not.toBe(0);
  expect(plain).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('default') });
});

test('commands at the same time do not mix their outputs', async () => {
  const all = await Promise.all(
    Array.from({ length: 6 }, (_, at) =>
      runCommand({ words: at % 2 === 0 ? ['version'] : ['nothing'], env: user.env }),
    ),
  );

  expect(all.map(({ code }) => code)).toEqual([0, 2, 0, 2, 0, 2]);
  expect(new Set(all.map(({ stdout, stderr }) => stdout + stderr)).size).toBe(2);
});

test('commands that serve, and what Node.js reads at its start, need a process of their own', () => {
  const run = (words: string[], env: NodeJS.ProcessEnv = {}): boolean => isRunnable({ words, env });

  expect([run(['list']), run(['mcp', 'list'])]).toEqual([true, true]);
  expect([
    run(['serve']),
    run(['mcp', 'serve']),
    run(['run', '--env-file', 'x']),
    run(['list'], { NODE_OPTIONS: '' }),
  ]).toEqual([false, false, false, false]);
});
