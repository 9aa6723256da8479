// @suite faults
import { chmod, mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { makeHome, openTestCore, testServer } from './testing/test-core.ts';
import type { TestHome } from './testing/test-core.ts';
import { createWorkload } from './workloads/creation/create.ts';
import { statePaths } from '@toolhive/state/paths';
import type { StatePaths } from '@toolhive/state/paths';

const call = { report: () => {}, signal: new AbortController().signal };

async function runIn(home: TestHome): Promise<void> {
  await using core = await openTestCore(home);
  await createWorkload(core, { name: 'echo', image: testServer }, call);
  await core.workloads.require('echo').follow(() => {});
}

type Damage = (path: string) => Promise<void>;

const aDirectory: Damage = async (path) => {
  await rm(path, { recursive: true, force: true });
  await mkdir(`${path}/inside`, { recursive: true });
};
const aLoop: Damage = async (path) => {
  await rm(path, { recursive: true, force: true });
  await mkdir(dirname(path), { recursive: true });
  await symlink(basename(path), path);
};
const nonsense: Damage = async (path) => {
  await rm(path, { recursive: true, force: true });
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'nonsense');
};

const files: Record<string, (paths: StatePaths) => string> = {
  'a status file': ({ statuses }) => `${statuses}/echo.json`,
  'the status file of a workload that is gone': ({ statuses }) => `${statuses}/gone.json`,
  'a run config': ({ runConfigs }) => `${runConfigs}/broken.json`,
  'a group': ({ groups }) => `${groups}/team.json`,
  'the default group': ({ groups }) => `${groups}/default.json`,
  'the daemon id': ({ daemonId }) => daemonId,
  'the registrations': ({ registrations }) => registrations,
  'the settings': ({ settings }) => settings,
  'the client entries': ({ clientEntries }) => clientEntries,
  'the lock': ({ lock }) => lock,
  'the events': ({ events }) => events,
  'the directory of statuses': ({ statuses }) => statuses,
  'the directory of groups': ({ groups }) => groups,
  'the directory of logs': ({ logs }) => logs,
  'the directory for temporary files': ({ temp }) => temp,
};
const damages: Record<string, Damage> = {
  'a directory': aDirectory,
  'a loop of links': aLoop,
  nonsense,
};
const cases = Object.entries(files).flatMap(([file, pathOf]) =>
  Object.entries(damages).map(([damage, make]) => [file, damage, pathOf, make] as const),
);

test.each(cases)('the daemon starts though %s is %s', async (_file, _damage, pathOf, make) => {
  await using home = await makeHome();
  await runIn(home);
  await make(pathOf(statePaths(home.env)));

  await using core = await openTestCore(home);

  expect(core.workloads.all().map(({ runConfig }) => runConfig.name)).toEqual(['echo']);
  expect(core.groups.all().map(({ name }) => name)).toContain('default');
  await createWorkload(core, { name: 'another', image: testServer }, call);
  await core.workloads.require('another').follow(() => {});
});

test.each(['a status file', 'the daemon id', 'the registrations', 'the settings', 'the lock'])(
  'what is wrong with %s is reported, and it is kept',
  async (file) => {
    await using home = await makeHome();
    await runIn(home);
    const path = files[file]?.(statePaths(home.env)) ?? '';
    await nonsense(path);
    const lines: string[] = [];

    await using _core = await openTestCore(home, {
      log: pino({ level: 'error' }, { write: (line) => void lines.push(line) }),
    });

    const kept = `${basename(path).replace('.json', '')}.set-aside`;
    expect(await readdir(dirname(path))).toContain(kept);
    expect(lines.join('')).toContain(kept);
  },
);

test('a workload stays in its group if its file is damaged', async () => {
  await using home = await makeHome();
  const { groups } = statePaths(home.env);
  {
    await using core = await openTestCore(home);
    await core.groups.create('team');
    await createWorkload(core, { name: 'echo', image: testServer, group: 'team' }, call);
  }
  await writeFile(`${groups}/copy.json`, await readFile(`${groups}/team.json`));
  await nonsense(`${groups}/team.json`);

  await using core = await openTestCore(home);

  expect(core.groups.all().map(({ name }) => name)).toEqual(['default', 'team']);
  expect(await readdir(groups)).toContain('team.set-aside');
});

test('a combined endpoint does not offer all tools after the choice of tools was damaged', async () => {
  await using home = await makeHome();
  const { groups } = statePaths(home.env);
  {
    await using core = await openTestCore(home);
    await core.groups.create('team');
    await core.groups.setTools('team', ['echo/one']);
  }
  await nonsense(`${groups}/team.json`);
  {
    await using core = await openTestCore(home);
    expect(core.groups.require('team').tools).toEqual([]);
  }

  // Also after another start.
  await using core = await openTestCore(home);

  expect(core.groups.require('team').tools).toEqual([]);
  expect(core.groups.require('default').tools).toBeUndefined();
  await core.groups.setTools('team', []);
  expect(core.groups.require('team').tools).toBeUndefined();
});

test('a secrets file that cannot be read is never taken for a new one', async () => {
  await using home = await makeHome();
  const { secrets: path } = statePaths(home.env);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '');
  await chmod(path, 0o600);
  await using core = await openTestCore(home);

  const setup = core.secrets.setup({ provider_type: 'encrypted', password: 'correct horse' });

  await expect(setup).rejects.toMatchObject({
    kind: 'conflict',
    message: `${path} is empty`,
    hint: 'restore the file from a backup, or move it away to start without secrets',
  });
});
