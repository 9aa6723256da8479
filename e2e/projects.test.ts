import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ProjectPlan, ProjectResult } from '@toolhive/contract/project';
import { expect, test } from 'vitest';
import { makeUser } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

const json = async <Result>(user: User, ...words: string[]): Promise<Result> =>
  JSON.parse(await user.mustThv(...words, '--format', 'json')) as Result;

/** Writes the files of a project, and returns its directory. */
async function project(user: User, files: Record<string, string>, name = 'project'): Promise<string> {
  const directory = join(user.home, name);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(directory, path, '..'), { recursive: true });
    await writeFile(join(directory, path), text);
  }
  return directory;
}

const echo = 'version: 1\nservers:\n  echo:\n    source: npx://toolhive-test-servers\n    args: [echo]\n';

test('an exported project gives the same tools on a fresh machine, with --locked', async () => {
  await using user = await makeUser();
  await user.mustThv('run', 'npx://toolhive-test-servers', '--name', 'echo', '--', 'echo');
  const document = await user.mustThv('export', '--format', 'project');
  await using other = await makeUser();
  const directory = await project(other, { 'toolhive.yaml': document });
  const file = join(directory, 'toolhive.yaml');

  const plan = await json<ProjectPlan>(other, 'up', file, '--dry-run');
  const result = await json<ProjectResult>(other, 'up', file, '--yes');
  const again = await json<ProjectResult>(other, 'up', file, '--yes');
  const lock = await readFile(join(directory, 'toolhive.lock'), 'utf8');

  await using third = await makeUser();
  const copy = await project(third, { 'toolhive.yaml': document, 'toolhive.lock': lock });
  const locked = await json<ProjectResult>(third, 'up', join(copy, 'toolhive.yaml'), '--locked', '--yes');

  expect(plan.servers).toMatchObject([{ name: 'echo', action: 'create' }]);
  expect(result.servers).toMatchObject([{ name: 'echo', action: 'create' }]);
  expect(again.servers).toMatchObject([{ name: 'echo', action: 'keep' }]);
  expect(locked.servers).toMatchObject([{ name: 'echo', action: 'create' }]);
  const pins = async (each: User): Promise<unknown> =>
    (await json<{ items: { kind: string; name: string; approved_hash: string }[] }>(each, 'pin', 'show', 'echo')).items.map(({ kind, name, approved_hash: hash }) => [kind, name, hash]); // prettier-ignore
  expect(await pins(third)).toEqual(await pins(other));
  expect(JSON.parse(lock)).toMatchObject({ servers: { echo: { integrity: expect.stringContaining('sha512-') as string } } }); // prettier-ignore
});
