// @suite e2e (in depth)
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TEST_IMAGE } from '@toolhive/runtime/testing/docker-engine';
import { engineSocket } from '@toolhive/runtime/testing/engines';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectTo } from './testing/mcp.ts';
import { makeUser, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { proves } from '@toolhive/testing/promises';

// A server that uses too much, and what its user is told.

const dockerSocket = await engineSocket('docker');
const runtimes = [
  { name: 'the sandbox', source: testServer, env: {} },
  {
    name: 'docker',
    source: TEST_IMAGE,
    env: { TOOLHIVE_RUNTIME: '', TOOLHIVE_DOCKER_SOCKET: dockerSocket },
  },
].filter(({ name }) => name !== 'docker' || dockerSocket !== '');

describe.each(runtimes)('a server with limits in $name', ({ name, source, env }) => {
  let user: User;

  beforeAll(async () => {
    user = await makeUser({ env });
  });
  afterAll(() => user[Symbol.asyncDispose]());

  async function run(workload: string, ...flags: string[]): Promise<string> {
    const { stdout, stderr } = await user.thv('run', source, '--name', workload, ...flags, '--', 'echo');
    const url = /http:\S+/.exec(stdout)?.[0];
    if (url === undefined) throw new Error(stderr);
    return url;
  }

  /** What the status says of its end. It is started again soon, and then does the same once more. */
  const reasonAfter = (workload: string, exceed: () => Promise<unknown>) =>
    until(async () => {
      await exceed().catch(() => {});
      const { stdout } = await user.thv('list', '--all', '--format', 'json');
      const workloads = JSON.parse(stdout) as { name: string; status_context?: string }[];
      const context = workloads.find((found) => found.name === workload)?.status_context;
      return context?.includes('allow more') ? context : undefined;
    });

  test('is ended when it uses too much memory, and the status names the limit and the flag', async () => {
    proves('security.limits');
    const url = await run('memory', '--memory', '192m', '--sessions', 'shared');

    const reason = await reasonAfter('memory', async () => {
      await using client = await connectTo(url);
      await client.call('allocate', { mebibytes: 600 });
    });

    expect(reason).toContain('the server used more than 192 MiB of memory; allow more with --memory');
  });

  test.each(name === 'the sandbox' ? ['1m'] : [])(
    'is ended when it stores more than %s, and the status names the limit and the flag',
    async (limit) => {
      const url = await run('disk', '--disk', limit, '--sessions', 'shared');

      const reason = await reasonAfter('disk', async () => {
        await using client = await connectTo(url);
        await client.call('write', { path: '/home/server/large', content: 'x'.repeat(3 * 1024 ** 2) });
      });

      expect(reason).toContain('stored more than 1 MiB in its home directory; allow more with --disk');
    },
  );

  test('keeps its limits when it is exported and imported', async () => {
    const file = join(user.home, 'exported.json');
    await run('exported', '--memory', '300m', '--cpus', '0.5', '--pids', '64');
    await user.thv('export', 'exported', file);
    await user.thv('rm', 'exported', '--yes');

    await user.thv('run', '--from-config', file);
    const { stdout } = await user.thv('list', '--format', 'json');

    const resources = { memory: 300 * 1024 ** 2, cpus: 0.5, pids: 64, disk: 2 * 1024 ** 3, open_files: 4096 };
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: 'exported', resources }));
  });

  test('is not imported with an absurd limit', async () => {
    const file = join(user.home, 'absurd.json');
    await run('absurd');
    await user.thv('export', 'absurd', file);
    await user.thv('rm', 'absurd', '--yes');
    const runConfig = JSON.parse(await readFile(file, 'utf8')) as object;
    await writeFile(file, JSON.stringify({ ...runConfig, resources: { memory: 'unlimited' } }));

    const { code, stderr } = await user.thv('run', '--from-config', file);

    expect(code).not.toBe(0);
    expect(stderr).toContain('resources.memory: "unlimited" is not a size such as 512m or 1.5GiB');
  });

  test('is refused with a limit out of range, and the flag is named', async () => {
    const { stderr } = await user.thv('run', source, '--name', 'refused', '--memory', '4m');

    expect(stderr).toContain(
      'Error: invalid --memory: "4m" is too small\nHint: use a size such as 512m or 1.5GiB from 16 MiB to 1 TiB',
    );
  });
});
