// @suite system
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { RunConfig } from '@toolhive/contract/run-config';
import type { EgressDecision } from '@toolhive/runtime/egress';
import { describe, expect, test } from 'vitest';
import type { Core } from '../core.ts';
import { openChangingRuntime, says } from '../testing/changing-server.ts';
import { canMount, mountSmallDisk } from '../testing/small-disk.ts';
import type { SmallDisk } from '../testing/small-disk.ts';
import { makeHome, openTestCore, testServer } from '../testing/test-core.ts';
import type { TestHome } from '../testing/test-core.ts';
import { getCapabilities } from '../capabilities/operate.ts';
import { createWorkload, editWorkload } from './creation/create.ts';
import { deleteWorkload, exportWorkload } from './operate.ts';
import { getToolPins } from '../pins/operate.ts';

// A user approves the tools of a server and removes it. Whoever chooses the next server of that name must get nothing.

if (!canMount) process.stderr.write('SKIPPED: tests of full disks need the superuser of a Linux system\n');

const harmless = { name: 'wipe', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
const destructive = { ...harmless, annotations: { readOnlyHint: false, destructiveHint: true } };
const denied: EgressDecision = {
  host: 'evil.example',
  verdict: 'denied',
  reason: 'no rule',
  missing: 'host',
};
const call = { report: () => {}, signal: new AbortController().signal };
const tables = { pins: ['kinds', 'versions'], listings: ['listings'], decisions: ['decisions'] } as const;
const allTables = Object.values(tables).flat();

interface World extends AsyncDisposable {
  home: TestHome;
  said: ReturnType<typeof says>;
  open: () => Promise<Core>;
  disk?: SmallDisk;
}

async function makeWorld({ onSmallDisk = false } = {}) {
  await using opened = new AsyncDisposableStack();
  const home = opened.use(await makeHome());
  const disk = onSmallDisk ? opened.use(await mountSmallDisk(join(home.path, '.local'))) : undefined;
  const said = says({ tools: [harmless] });
  const everything = opened.move();
  return {
    home,
    said,
    open: () => openTestCore(home, { runtimes: () => [openChangingRuntime(said)] }),
    ...(disk === undefined ? {} : { disk }),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  } satisfies World;
}

async function run(core: Core, request: { name: string; image?: string }): Promise<void> {
  await createWorkload(core, { image: testServer, ...request }, call);
  await core.workloads.require(request.name).follow(() => {});
}

/** Runs a workload whose tool is approved, and of which everything is stored. */
async function runTrusted(core: Core, name: string): Promise<void> {
  await run(core, { name });
  await getCapabilities(core, name, { refresh: true });
  core.egressOf(core.workloads.require(name), () => {}).record(denied);
}

/** Everything that the user would trust, or believe, of a workload because of what is stored. */
async function trustIn(core: Core, name: string) {
  const { id } = core.workloads.require(name);
  const pins = await getToolPins(core, name);
  return {
    approved: pins.items.filter(({ state }) => state === 'approved').map((item) => item.name),
    annotations: core.pins.annotationsOf(id, 'wipe'),
    listed: core.listings.of(id)?.lists.tool?.items,
    decisions: core.decisions.list(id).map(({ host }) => host),
    calls: core.traffic.of(id).list({}, {}).entries.length,
  };
}

const nothing = {
  approved: [],
  annotations: undefined,
  listed: undefined,
  decisions: [],
  calls: 0,
};

/** Removes a workload to the end, and returns what the user is told. */
async function remove(core: Core, name: string): Promise<string[]> {
  const told: string[] = [];
  const accepted = await deleteWorkload(core, name);
  await accepted.follow((message) => void told.push(message), call.signal);
  return told;
}

/** The workloads in the database of a daemon that has ended. */
function storedIn(paths: Core['paths']): unknown[] {
  using database = openDatabase(paths.workloads);
  return allTables.flatMap((table) =>
    database
      .prepare(`SELECT DISTINCT workload FROM ${table}`)
      .all()
      .map(({ workload }) => workload),
  );
}

function openDatabase(path: string) {
  const database = new DatabaseSync(path);
  return Object.assign(database, { [Symbol.dispose]: () => database.close() });
}

/** What keeps SQLite from deleting rows. */
const troubles = [
  ...(canMount
    ? [
        {
          trouble: 'on a full disk',
          begin: async ({ disk }: World) => {
            await disk?.fill();
            return async () => disk?.free();
          },
        },
      ]
    : []),
  {
    trouble: 'while another program has locked the database',
    begin: async (_world: World, { paths }: Core) => {
      const lock = new DatabaseSync(paths.workloads);
      lock.exec('BEGIN IMMEDIATE');
      return async () => lock.close();
    },
  },
];

describe.each(troubles)('a removal $trouble', ({ begin }) => {
  test('leaves nothing that a new workload with the same name inherits', async () => {
    await using world = await makeWorld({ onSmallDisk: canMount });
    await using core = await world.open();
    await runTrusted(core, 'math');
    const trusted = await trustIn(core, 'math');
    const end = await begin(world, core);
    await remove(core, 'math');
    await end();

    await run(core, { name: 'math' });

    expect(trusted).toMatchObject({ approved: ['wipe'], decisions: ['evil.example'] });
    expect(await trustIn(core, 'math')).toEqual(nothing);
    world.said.tools = [destructive];
    await getCapabilities(core, 'math', { refresh: true });
    expect((await trustIn(core, 'math')).annotations).toMatchObject({ readOnlyHint: false });
  });

  test('tells the user what remains, which the next start removes', async () => {
    await using world = await makeWorld({ onSmallDisk: canMount });
    let told: string[];
    let paths: Core['paths'];
    {
      await using core = await world.open();
      ({ paths } = core);
      await runTrusted(core, 'math');
      const end = await begin(world, core);
      told = await remove(core, 'math');
      await end();
    }

    await (await world.open())[Symbol.asyncDispose]();

    expect(
      told.filter((message) => message.startsWith('WARNING: cannot remove the approved tools of math: ')),
    ).toHaveLength(1);
    expect(storedIn(paths)).toEqual([]);
  });
});

test('a removal that a power failure has undone in the databases leaves nothing to inherit', async () => {
  await using world = await makeWorld();
  const copy = join(world.home.path, 'copy');
  let paths: Core['paths'];
  {
    await using core = await world.open();
    ({ paths } = core);
    await runTrusted(core, 'math');
    await core[Symbol.asyncDispose]();
    await cp(paths.state, copy, { recursive: true });
  }
  {
    await using core = await world.open();
    await remove(core, 'math');
  }
  for (const end of ['', '-wal', '-shm']) {
    await rm(`${paths.workloads}${end}`, { force: true });
    const before = `${join(copy, relative(paths.state, paths.workloads))}${end}`;
    await cp(before, `${paths.workloads}${end}`).catch(() => {}); // SQLite may have removed the file
  }
  const undone = storedIn(paths);
  await using core = await world.open();

  await run(core, { name: 'math' });

  expect(undone).toHaveLength(4);
  expect(await trustIn(core, 'math')).toEqual(nothing);
  await core[Symbol.asyncDispose]();
  expect(storedIn(paths)).toEqual([]);
});

test('what the removed server of a name still does concerns no later workload of that name', async () => {
  await using world = await makeWorld();
  await using core = await world.open();
  await runTrusted(core, 'math');
  const earlier = core.workloads.require('math');
  const egress = core.egressOf(earlier, () => {});
  const pins = core.pins.forProxy(earlier.id, () => {});
  const sink = core.listings.sinkFor(earlier.id, () => undefined);
  await remove(core, 'math');
  await run(core, { name: 'math' });

  egress.record({ ...denied, host: 'late.example' });
  sink.listed('tool', [harmless], true);
  const items = [{ name: 'wipe', content: harmless }];
  await pins.review({
    kind: 'tool',
    items,
    cursor: undefined,
    nextCursor: undefined,
    capabilities: '',
    session: undefined,
  });

  expect(await trustIn(core, 'math')).toEqual(nothing);
});

test('a server that takes over the name of a failed workload starts without its trust', async () => {
  await using world = await makeWorld();
  await using core = await world.open();
  await runTrusted(core, 'math');
  world.said.rawResults['initialize'] = 'null';
  await core.workloads.require('math').restart();
  await core.workloads
    .require('math')
    .follow(() => {})
    .catch(() => {});
  await expect.poll(() => core.workloads.require('math').condition.status).toBe('error');
  delete world.said.rawResults['initialize'];
  await writeFile(join(core.paths.logs, 'math.server.log'), 'written by the earlier server\n');

  await run(core, { name: 'math' });

  expect(await trustIn(core, 'math')).toEqual(nothing);
  expect(await core.logs.read('math', 'server', { lines: 10 })).not.toContain('earlier server');
});

test('the same workload keeps its trust when it is edited and when the daemon starts again', async () => {
  await using world = await makeWorld();
  {
    await using core = await world.open();
    await runTrusted(core, 'math');
    await editWorkload(core, 'math', { image: testServer, env_vars: { A: 'b' } }, call);
    await core.workloads.require('math').follow(() => {});
  }
  await using core = await world.open();

  const trusted = await trustIn(core, 'math');

  expect(trusted).toMatchObject({ approved: ['wipe'], decisions: ['evil.example'] });
  expect(trusted.annotations).toMatchObject({ readOnlyHint: true });
});

describe('a run config', () => {
  const fileOf = ({ paths }: Core, name: string): string => join(paths.runConfigs, `${name}.json`);
  const read = async (path: string) => JSON.parse(await readFile(path, 'utf8')) as RunConfig;

  test('is exported without the ID to which the trust belongs', async () => {
    await using world = await makeWorld();
    await using core = await world.open();
    await run(core, { name: 'math' });

    const exported = JSON.stringify(exportWorkload(core, 'math'));

    const { id } = core.workloads.require('math');
    expect(await readFile(fileOf(core, 'math'), 'utf8')).toContain(id);
    expect(exported).not.toContain(id);
    expect(exported).not.toContain('workload_id');
  });

  test('that is imported or sent as an edit cannot choose the ID of another workload', async () => {
    await using world = await makeWorld();
    await using core = await world.open();
    await runTrusted(core, 'math');
    await run(core, { name: 'edited' });
    const stolen = await read(fileOf(core, 'math'));

    await createWorkload(core, { ...stolen, name: 'thief', port: 0 }, call);
    await core.workloads.require('thief').follow(() => {});
    await editWorkload(core, 'edited', { ...stolen, name: 'edited', port: 0 }, call);
    await core.workloads.require('edited').follow(() => {});

    expect(await trustIn(core, 'thief')).toEqual(nothing);
    expect(await trustIn(core, 'edited')).toEqual(nothing);
    expect(exportWorkload(core, 'thief')).not.toHaveProperty('workload_id');
  });

  test('that was copied by hand shares no trust with its original', async () => {
    await using world = await makeWorld();
    {
      await using core = await world.open();
      await runTrusted(core, 'math');
      const copied = await read(fileOf(core, 'math'));
      const own = { name: 'copy', base_name: 'copy', container_name: 'copy', port: copied.port + 1 };
      await writeFile(fileOf(core, 'copy'), JSON.stringify({ ...copied, ...own }));
    }
    await using core = await world.open();

    const trusted = await trustIn(core, 'copy');

    expect(trusted).toEqual(nothing);
    expect(core.workloads.require('copy').id).not.toBe(core.workloads.require('math').id);
  });

  test('of another program gets an ID at the first start and keeps it', async () => {
    await using world = await makeWorld();
    await using first = await world.open();
    await run(first, { name: 'math' });
    await first[Symbol.asyncDispose]();
    const { workload_id: _id, ...foreign } = await read(fileOf(first, 'math'));
    await writeFile(fileOf(first, 'math'), JSON.stringify(foreign));
    await using second = await world.open();
    const { id } = second.workloads.require('math');
    await second[Symbol.asyncDispose]();

    await using third = await world.open();

    expect(third.workloads.require('math').id).toBe(id);
    expect(first.workloads.require('math').id).not.toBe(id);
  });
});

/** Rewrites the database into the three files of an earlier version. */
async function splitDatabase(
  { workloads, earlier }: Core['paths'],
  { version, names }: { version: number; names: ReadonlyMap<string, string> },
): Promise<void> {
  for (const part of ['pins', 'listings', 'decisions'] as const) {
    {
      using database = openDatabase(workloads);
      database.prepare('VACUUM INTO ?').run(earlier[part]);
    }
    const own: readonly string[] = tables[part];
    using opened = openDatabase(earlier[part]);
    for (const table of ['imported', ...allTables])
      if (!own.includes(table)) opened.exec(`DROP TABLE ${table}`);
    for (const table of own)
      for (const [id, name] of names)
        opened.prepare(`UPDATE ${table} SET workload = ? WHERE workload = ?`).run(name, id);
    opened.exec(`PRAGMA user_version = ${version}`);
  }
  for (const end of ['', '-wal', '-shm']) await rm(`${workloads}${end}`, { force: true });
}

describe('the first start after an upgrade from a version with three databases', () => {
  async function makeSplit() {
    const world = await makeWorld();
    await using core = await world.open();
    await runTrusted(core, 'math');
    const { id } = core.workloads.require('math');
    await core[Symbol.asyncDispose]();
    await splitDatabase(core.paths, { version: 1, names: new Map() });
    return { ...world, paths: core.paths, id };
  }

  test('reads them into one, and removes them', async () => {
    await using world = await makeSplit();
    await using core = await world.open();

    const trusted = await trustIn(core, 'math');

    expect(trusted).toMatchObject({ approved: ['wipe'], decisions: ['evil.example'], listed: [harmless] });
    expect(await readdir(world.paths.state)).not.toContain('pins.db');
    await core[Symbol.asyncDispose]();
    expect(new Set(storedIn(world.paths))).toEqual(new Set([world.id]));
  });

  test('happens once, even if an earlier file comes back', async () => {
    await using world = await makeSplit();
    const { pins } = world.paths.earlier;
    const copy = await readFile(pins);
    {
      await using core = await world.open();
      await remove(core, 'math');
    }
    await writeFile(pins, copy);

    await (await world.open())[Symbol.asyncDispose]();

    expect(storedIn(world.paths)).toEqual([]);
  });

  test('keeps nothing that was recorded without an earlier file that another program had locked', async () => {
    await using world = await makeSplit();
    const lock = new DatabaseSync(world.paths.earlier.pins);
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    world.said.tools = [destructive];
    {
      await using interrupted = await world.open();
      await interrupted.workloads.require('math').follow(() => {});
      await getCapabilities(interrupted, 'math', {});
    }
    lock.close();

    await using core = await world.open();

    expect((await trustIn(core, 'math')).annotations).toMatchObject({ readOnlyHint: true });
  });
});

test('a daemon that starts beside a lock still knows the approvals', async () => {
  await using world = await makeWorld();
  const before = await world.open();
  await runTrusted(before, 'math');
  await before[Symbol.asyncDispose]();
  using lock = openDatabase(before.paths.workloads);
  lock.exec('BEGIN IMMEDIATE');

  await using core = await world.open();

  expect((await trustIn(core, 'math')).approved).toEqual(['wipe']);
});

test('a daemon does not start with the database of a later version, and names both formats', async () => {
  await using world = await makeWorld();
  const core = await world.open();
  await core[Symbol.asyncDispose]();
  {
    using database = openDatabase(core.paths.workloads);
    database.exec('PRAGMA user_version = 3');
  }

  const opening = world.open();

  await expect(opening).rejects.toMatchObject({
    kind: 'unavailable', // a conflict would be one with another daemon
    message: expect.stringContaining('workloads.db was written by a later version of ToolHive (format 3'),
  });
  {
    using database = openDatabase(core.paths.workloads);
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 3 });
  }
});

describe('the first start after an upgrade from a version that stored everything by name', () => {
  /** Rewrites what a daemon stored into what such a version stored. */
  async function asByName({ paths }: Core, names: ReadonlyMap<string, string>) {
    for (const file of await readdir(paths.runConfigs)) {
      const path = join(paths.runConfigs, file);
      const { workload_id: _id, ...runConfig } = JSON.parse(await readFile(path, 'utf8')) as RunConfig;
      await writeFile(path, JSON.stringify(runConfig));
    }
    await splitDatabase(paths, { version: 0, names });
    await rm(join(paths.state, 'workloads'), { recursive: true, force: true });
    await mkdir(join(paths.state, 'mounts'), { recursive: true });
    for (const name of names.values())
      await writeFile(
        join(paths.state, 'mounts', `${name}.json`),
        JSON.stringify({ '/x': { path: '/x', device: '1', inode: '2' } }),
      );
  }

  async function makeByName() {
    const world = await makeWorld();
    await using core = await world.open();
    await runTrusted(core, 'math');
    await runTrusted(core, 'removed');
    const { id } = core.workloads.require('removed');
    const names = new Map([
      [core.workloads.require('math').id, 'math'],
      [id, 'removed'],
    ]);
    await core[Symbol.asyncDispose]();
    await asByName(core, names);
    const removed = join(core.paths.runConfigs, 'removed.json');
    const runConfig = await readFile(removed, 'utf8');
    await rm(removed);
    return { ...world, paths: core.paths, bringBack: () => writeFile(removed, runConfig) };
  }

  test('gives each workload what is stored under its name, and drops the rest', async () => {
    await using world = await makeByName();
    await using core = await world.open();
    const { id } = core.workloads.require('math');

    const trusted = await trustIn(core, 'math');

    expect(trusted).toMatchObject({ approved: ['wipe'], decisions: ['evil.example'], listed: [harmless] });
    expect(trusted.annotations).toMatchObject({ readOnlyHint: true });
    expect(await core.mounts.ids()).toEqual([id]);
    await core[Symbol.asyncDispose]();
    expect([...new Set(storedIn(core.paths))]).toEqual([id]);
  });

  test('happens once, so that a later workload adopts nothing by its name', async () => {
    await using world = await makeByName();
    await (await world.open())[Symbol.asyncDispose]();
    await world.bringBack();

    await using core = await world.open();

    expect(await trustIn(core, 'removed')).toEqual(nothing);
  });

  test('is repeated if it could not adopt the rows, but not for a workload that was created meanwhile', async () => {
    await using world = await makeByName();
    const locks = Object.values(world.paths.earlier).map((path) => new DatabaseSync(path));
    for (const lock of locks) lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    {
      await using interrupted = await world.open();
      await run(interrupted, { name: 'removed' });
    }
    for (const lock of locks) lock.close();

    await using core = await world.open();

    expect(await trustIn(core, 'math')).toMatchObject({ approved: ['wipe'], decisions: ['evil.example'] });
    expect(await trustIn(core, 'removed')).toEqual(nothing);
  });
});
