// @suite system
import { join } from 'node:path';
import { canMount, mountSmallDisk } from './testing/small-disk.ts';
import type { SmallDisk } from './testing/small-disk.ts';
import { makeHome, openTestCore } from './testing/test-core.ts';
import type { Core, CoreOptions } from './open-core.ts';
import { describe, expect, test } from 'vitest';
import { createApi } from '@toolhive/api/api';
import { aWorkload } from '@toolhive/api/testing';
import { mcpCaller } from '@toolhive/api/testing/mcp-caller';

if (!canMount) process.stderr.write('SKIPPED: tests of full disks need the superuser of a Linux system\n');

const base = 'http://localhost/api/v1beta';

/** A home whose state is on a small disk of its own, and an API over it. */
async function openOnSmallDisk() {
  await using opened = new AsyncDisposableStack();
  const home = opened.use(await makeHome());
  const disk: SmallDisk = opened.use(await mountSmallDisk(join(home.path, '.local')));
  const open = (changes: Partial<CoreOptions> = {}): Promise<Core> => openTestCore(home, changes);
  const everything = opened.move();
  return { disk, open, [Symbol.asyncDispose]: () => everything.disposeAsync() };
}

function callsTo(core: Core) {
  const app = createApi(core, { listener: { host: 'localhost', port: 80 } });
  const headers = { host: 'localhost', 'content-type': 'application/json' };
  return async (method: string, path: string, body?: unknown): Promise<{ status: number; text: string }> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await app.request(`${base}${path}`, { method, headers, ...sent });
    return { status: response.status, text: await response.text() };
  };
}

async function run(core: Core, name: string): Promise<void> {
  const created = await callsTo(core)('POST', '/workloads', aWorkload({ name }));
  if (created.status !== 201) throw new Error(created.text);
  await core.workloads.require(name).follow(() => {});
}

const full = {
  prepare: (disk: SmallDisk) => disk.fill(),
  undo: (disk: SmallDisk) => disk.free(),
  status: 507,
};
const readOnly = {
  prepare: (disk: SmallDisk) => disk.setReadOnly(true),
  undo: (disk: SmallDisk) => disk.setReadOnly(false),
  status: 503,
};

describe.runIf(canMount).each([
  ['a full disk', full],
  ['a read-only disk', readOnly],
])('on %s', (_title, { prepare, undo, status }) => {
  test('a workload can be stopped, and its status says that this is not saved', async () => {
    await using small = await openOnSmallDisk();
    await using core = await small.open();
    await run(core, 'echo');
    await prepare(small.disk);

    const answer = await callsTo(core)('POST', '/workloads/echo/stop');

    expect(answer.status).toBe(202);
    await expect.poll(() => core.workloads.require('echo').condition.context).toContain('is not saved');
    expect(core.workloads.require('echo').condition.status).toBe('stopped');
    await undo(small.disk);
  });

  test('what has to be written is refused with the path, and changes nothing', async () => {
    await using small = await openOnSmallDisk();
    await using core = await small.open();
    await run(core, 'echo');
    await prepare(small.disk);
    const call = callsTo(core);

    const answers = [
      await call('POST', '/workloads', aWorkload({ name: 'other' })),
      await call('POST', '/groups', { name: 'team' }),
    ];

    expect(answers.map((answer) => answer.status)).toEqual([status, status]);
    for (const { text } of answers) expect(text).toContain('/.local/');
    expect(core.workloads.all().map(({ runConfig }) => runConfig.name)).toEqual(['echo']);
    expect(core.workloads.require('echo').condition.status).toBe('running');
    await undo(small.disk);
  });

  test('a workload whose server ends is started again', async () => {
    await using small = await openOnSmallDisk();
    await using core = await small.open();
    await run(core, 'echo');
    await prepare(small.disk);

    await core.workloads.require('echo').restart();
    await core.workloads.require('echo').follow(() => {});

    expect(core.workloads.require('echo').condition.status).toBe('running');
    await undo(small.disk);
  });
});

test.runIf(canMount)('a workload can be removed from a full disk, and nothing of it is left', async () => {
  await using small = await openOnSmallDisk();
  {
    await using core = await small.open();
    await run(core, 'echo');
    await small.disk.fill();

    const answer = await callsTo(core)('DELETE', '/workloads/echo');

    expect(answer.status).toBe(202);
    await expect.poll(() => core.workloads.all()).toEqual([]);
  }
  await using core = await small.open();
  expect(core.workloads.all()).toEqual([]);
  await small.disk.free();
});

test.runIf(canMount)('a workload is not removed from a read-only disk, and runs on', async () => {
  await using small = await openOnSmallDisk();
  await using core = await small.open();
  await run(core, 'echo');
  await small.disk.setReadOnly(true);

  const answer = await callsTo(core)('DELETE', '/workloads/echo');

  expect(answer).toMatchObject({ status: 503, text: expect.stringContaining('/.local/') });
  expect(core.workloads.require('echo').condition.status).toBe('running');
  await small.disk.setReadOnly(false);
  expect((await callsTo(core)('DELETE', '/workloads/echo')).status).toBe(202);
});

describe.runIf(canMount)('a daemon that starts on a full disk', () => {
  test('runs what should run, and serves what needs no write', async () => {
    await using small = await openOnSmallDisk();
    {
      await using core = await small.open();
      await run(core, 'echo');
    }
    await small.disk.fill();

    await using core = await small.open();
    await core.workloads.require('echo').follow(() => {});

    expect((await callsTo(core)('GET', '/workloads')).text).toContain('"status":"running"');
    expect((await callsTo(core)('POST', '/workloads/echo/stop')).status).toBe(202);
    await small.disk.free();
  });

  // The databases of a new daemon need half of the small disk, so each of these sizes ends within another one.
  test.each(Array.from({ length: 20 }, (_, index) => 32 * index))(
    'serves what needs no write, though it has never started before, and only %d KiB are free',
    async (kibibytes) => {
      await using small = await openOnSmallDisk();
      await small.disk.fill(kibibytes);

      await using core = await small.open();

      expect((await callsTo(core)('GET', '/groups')).text).toContain('default');
      await small.disk.free();
    },
  );
});

test.runIf(canMount)(
  'a daemon does not start on a read-only disk, and names the path that it cannot lock',
  async () => {
    await using small = await openOnSmallDisk();
    {
      await using core = await small.open();
      await run(core, 'echo');
    }
    await small.disk.setReadOnly(true);

    const opening = small.open();

    await expect(opening).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(
        /^cannot lock \/.*\/\.local\/state\/toolhive\/hive\.lock: the file system is read-only$/,
      ),
      hint: expect.stringContaining('make the directory writable'),
    });
    await small.disk.setReadOnly(false);
  },
);

test.runIf(canMount)('a status that could not be saved is saved as soon as there is space', async () => {
  await using small = await openOnSmallDisk();
  {
    await using core = await small.open();
    await run(core, 'echo');
    await small.disk.fill();
    await callsTo(core)('POST', '/workloads/echo/stop');
    await expect.poll(() => core.workloads.require('echo').condition.status).toBe('stopped');
    await small.disk.free();
  }

  await using core = await small.open();

  expect(core.workloads.require('echo').condition.status).toBe('stopped');
});

test.runIf(canMount)(
  'on a full disk, calls go on, and the history counts them once there is space',
  async () => {
    await using small = await openOnSmallDisk();
    await using core = await small.open();
    await run(core, 'echo');
    const client = mcpCaller(`http://127.0.0.1:${core.workloads.require('echo').runConfig.port}/mcp`);
    await client.ask('initialize');
    await small.disk.fill();

    const pings = [];
    for (let count = 0; count < 20; count += 1) pings.push((await client.ask('ping')).status);
    const during = await callsTo(core)('GET', '/history');
    const calls = await callsTo(core)('GET', '/workloads/echo/traffic');
    await small.disk.free();

    expect(new Set(pings)).toEqual(new Set([200]));
    expect(during.status).toBe(200);
    expect((JSON.parse(calls.text) as { entries: object[] }).entries.length).toBe(21);
    expect((await callsTo(core)('GET', '/history')).text).toContain('"calls":21,');
  },
);
