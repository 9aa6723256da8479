import { afterAll, beforeAll, expect, test } from 'vitest';
import { testServer } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

let user: User;

beforeAll(async () => {
  user = await openUsedHomes().take();
  await user.mustThv('run', '--name', 'echo', testServer, '--', 'echo');
});
afterAll(() => user?.[Symbol.asyncDispose]());

const records = async (...words: string[]): Promise<unknown[]> =>
  JSON.parse(await user.mustThv(...words, '--format', 'json')) as unknown[];

test('thv logs shows the lines that contain a text or are of a time', async () => {
  const all = await user.mustThv('logs', 'echo', '--proxy');
  const [line = ''] = all.split('\n');
  const word = /\w{5,}/.exec(line.slice(30))?.[0] ?? '';

  const found = await user.mustThv('logs', 'echo', '--proxy', '--search', word.toUpperCase());
  const later = await user.thv('logs', 'echo', '--proxy', '--since', '2999-01-01T00:00:00Z');
  const earlier = await user.mustThv('logs', 'echo', '--proxy', '--until', '2999-01-01T00:00:00Z');

  expect(found).toContain(line);
  expect(
    found
      .trimEnd()
      .split('\n')
      .every((each) => each.includes(word)),
  ).toBe(true);
  expect(later).toMatchObject({ code: 0, stdout: '', stderr: 'No lines match.\n' });
  expect(earlier).toContain(line);
});

test('thv audit shows the records that contain a text', async () => {
  const found = await records('audit', '--search', 'CREATEWORKLOAD');

  expect(found.length).toBeGreaterThan(0);
  expect(JSON.stringify(found).toLowerCase()).toContain('createworkload');
  expect(await records('audit', '--search', 'no such text')).toEqual([]);
});

test('thv network filters decisions, and says if none matches', async () => {
  expect(await user.mustThv('network', 'echo', '--search', 'example.com')).toBe('No decisions match.\n');
  expect(await user.mustThv('network', 'echo')).toBe('No connection attempts of echo are recorded.\n');
});

test.each([
  ['logs', 'echo', 'search'],
  ['logs', 'echo', 'until'],
  ['network', 'echo', 'since'],
])('thv %s %s does not follow with --%s', async (command, name, flag) => {
  const { code, stderr } = await user.thv(command, name, '--follow', `--${flag}`, '2026-01-01T00:00:00Z');

  expect(code).not.toBe(0);
  expect(stderr).toContain(`--follow and --${flag} cannot be used together`);
});
