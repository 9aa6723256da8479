import { expect, test } from 'vitest';
import { makeUser, testServer, until } from './testing/thv.ts';

test('thv doctor tells what works and what does not, for people and for programs', async () => {
  await using user = await makeUser();
  await user.mustThv('run', testServer, '--name', 'fine', '--', 'echo');
  const curiously = '--name curious --permission-profile none -- calls-out api.invalid 443'.split(' ');
  await user.mustThv('run', testServer, ...curiously);
  await user.thv('run', testServer, '--name', 'broken', '--', 'exit-at-once');
  await until(async () => (await user.mustThv('list', '--all', '--format', 'json')).includes('"error"'));

  const fine = await user.thv('doctor', 'fine');
  const curious = await user.thv('doctor', 'curious');
  const broken = await user.thv('doctor', 'broken');
  const machine = await user.thv('doctor', '--format', 'json');
  const unknown = await user.thv('doctor', 'nobody');
  const client = await user.thv('doctor', 'cursor');

  expect(fine.code).toBe(0);
  expect(fine.stdout).toMatch(/^sandbox +(ok|warning) /m);
  expect(fine.stdout).toMatch(/^listing +ok +the server offers \d+ tools$/m);
  expect(curious.stdout).toMatch(
    /^network +warning +the server has no network access, .*getaddrinfo \w+ api\.invalid$/m,
  );
  expect(broken.code).toBe(5);
  expect(broken.stdout).toMatch(/^process +failed +the server is not running: .*exited with code 3/m);
  expect(broken.stdout).toMatch(/^ +-> run thv logs broken to see its output/m);
  expect(broken.stderr).toContain('Error: problems found: process\n');
  expect(JSON.parse(machine.stdout)).toMatchObject({ subject: 'machine', healthy: false });
  expect(unknown).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('workload or client nobody'),
  });
  expect(client.stdout).toMatch(/^application +failed +Cursor editor is not installed/m);
});
