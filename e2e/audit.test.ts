import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectTo, officialClients } from './testing/mcp.ts';
import { makeUser, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

// A real server in the sandbox, official clients, and the audit log that the user reads.

interface Numbered {
  id: number;
  record: {
    type: string;
    outcome: string;
    workload?: string;
    subjects: Record<string, string>;
    target?: Record<string, string>;
    data?: { request?: { params?: { arguments?: object } } };
  };
}

describe('the audit log', () => {
  let user: User;
  let url: string;

  beforeAll(async () => {
    user = await makeUser();
    const config = join(user.home, 'audit.json');
    await writeFile(
      config,
      JSON.stringify({
        include_request_data: true,
        max_data_size: 4096,
        log_file: join(user.home, 'calls.log'),
      }),
    );
    const flags = ['--name', 'audited', '--tools', 'echo', '--audit-config', config, '--format', 'json'];
    ({ url } = JSON.parse(await user.mustThv('run', testServer, ...flags, '--', 'echo')) as { url: string });
  });
  afterAll(() => user?.[Symbol.asyncDispose]());

  const audit = async (...flags: string[]): Promise<Numbered[]> =>
    JSON.parse(await user.mustThv('audit', '--format', 'json', ...flags)) as Numbered[];

  const calls = (...flags: string[]): Promise<Numbered[]> =>
    audit('--workload', 'audited', '--type', 'mcp_tool_call', ...flags);

  test.each(Object.keys(officialClients))('contains the calls of each client: %s', async (name) => {
    const before = (await calls()).length;
    await using client = await officialClients[name]?.(url);

    await client?.call('echo', { text: 'hello', password: 'hunter2-hunter2' });

    const all = await until(async () => {
      const found = await calls();
      return found.length > before ? found : undefined;
    });
    const { record } = all.at(-1) as Numbered;
    expect(record).toMatchObject({ outcome: 'success', target: { name: 'echo', type: 'tool' } });
    expect(record.data?.request?.params?.arguments).toEqual({ text: 'hello', password: '[REDACTED]' });
    expect(all).toHaveLength(before + 1);
  });

  test('contains denied calls, which are found by their outcome', async () => {
    await using client = await connectTo(url);

    await client.call('dial', {}).catch(() => {});

    const [denied] = await until(async () => {
      const found = await calls('--outcome', 'denied');
      return found.length > 0 ? found : undefined;
    });
    expect(denied?.record.target).toMatchObject({ name: 'dial' });
    expect((await user.thv('audit', '--outcome', 'denied')).stdout).toMatch(
      /denied +mcp_tool_call +audited .*dial/,
    );
  });

  test('contains what the user did, and can be followed', async () => {
    const following = user.start('audit', '--follow', '--type', 'api_call', '--format', 'json');
    await user.mustThv('group', 'create', 'team');

    await until(() => following.stdout().includes('"createGroup"'));

    following.child.kill('SIGINT');
    expect(await following.ended).toBe(0);
    expect(following.stdout()).toContain('"createWorkload"');
    const [first] = await audit('--type', 'api_call');
    expect(first?.record).toMatchObject({ target: { method: 'createWorkload', name: 'audited' } });
  });

  test('is written to the file of the user, which only the user can read', async () => {
    const file = join(user.home, 'calls.log');

    const text = await readFile(file, 'utf8');

    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(text).toContain('"mcp_tool_call"');
    expect(text).not.toContain('hunter2');
  });

  test('is refused in a file that something else reads', async () => {
    await writeFile(join(user.home, 'notes.log'), 'export A=1\n');
    const config = join(user.home, 'other.json');
    await writeFile(config, JSON.stringify({ log_file: join(user.home, 'notes.log') }));

    const { code, stderr } = await user.thv(
      'run',
      testServer,
      '--name',
      'other',
      '--audit-config',
      config,
      '--',
      'echo',
    );

    expect(code).not.toBe(0);
    expect(stderr).toContain('the file belongs to another program or user');
    expect(await readFile(join(user.home, 'notes.log'), 'utf8')).toBe('export A=1\n');
  });

  test('shows a change of a record by another program, with exit code 1', async () => {
    const intact = await user.thv('audit', 'verify');
    const database = new DatabaseSync(join(user.home, '.local/state/toolhive/audit.db'));
    database.exec(
      `UPDATE records SET line = replace(line, '"denied"', '"success"') WHERE outcome = 'denied'`,
    );
    database.close();

    const changed = await user.thv('audit', 'verify');

    expect([intact.code, intact.stdout]).toEqual([0, expect.stringContaining('audit.db: intact')]);
    expect(changed.code).toBe(1);
    expect(changed.stdout).toMatch(/audit\.db: broken at record \d+/);
    expect(changed.stderr).toContain('the audit log was changed by another program');
  });
});
