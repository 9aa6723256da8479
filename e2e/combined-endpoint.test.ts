import { afterAll, beforeAll, expect, test } from 'vitest';
import { officialClients } from './testing/mcp.ts';
import { testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { openUsedHomes } from './testing/used-homes.ts';

let user: User;
let url: string;

interface Listed {
  name: string;
  url: string;
}

beforeAll(async () => {
  user = await openUsedHomes().take();
  await user.mustThv('group', 'create', 'work', '--endpoint', 'combined');
  for (const name of ['one', 'two'])
    await user.mustThv(
      'run',
      testServer,
      '--name',
      name,
      '--group',
      'work',
      '--permission-profile=none',
      '--',
      'echo',
    );
  const listed = JSON.parse(await user.mustThv('list', '--all', '--format', 'json')) as Listed[];
  url = listed.find(({ name }) => name === 'combined-work')?.url ?? '';
});
afterAll(() => user?.[Symbol.asyncDispose]());

test.each(Object.entries(officialClients))(
  'calls the tools of two sandboxed servers at one URL: %s',
  async (_name, connect) => {
    await using client = await connect(url);
    const names = await until(async () => {
      const listed = await client.tools();
      return listed.some((name) => name.startsWith('one__')) &&
        listed.some((name) => name.startsWith('two__'))
        ? listed
        : undefined;
    });

    const [first, second] = [
      await client.call('one__echo', { message: 'first' }),
      await client.call('two__echo', { message: 'second' }),
    ];

    expect(names).not.toContain('echo');
    expect(first.text).toContain('first');
    expect(second.text).toContain('second');
  },
);

test('chooses tools, and gives clients each workload again', async () => {
  const invalid = await user.thv('group', 'edit', 'work', '--tool', 'echo');
  const chosen = await user.mustThv('group', 'edit', 'work', '--tool', 'one/echo');
  const info = await user.mustThv('group', 'info', 'work');
  await user.mustThv('group', 'edit', 'work', '--endpoint', 'none', '--all-tools');

  const group = JSON.parse(await user.mustThv('group', 'info', 'work', '--format', 'json')) as object;

  expect(invalid.code).not.toBe(0);
  expect(invalid.stderr).toContain(
    'a chosen tool is the name of a workload, a slash, and the name of a tool, such as files/read_file',
  );
  expect(chosen).toBe('changed the group work\n');
  expect(info).toContain('Only endpoint of clients: combined\nChosen tools: one/echo\n');
  expect(group).not.toHaveProperty('endpoint');
  expect(group).not.toHaveProperty('chosen_tools');
});
