// @suite system (in depth)
import { join } from 'node:path';
import type { DaemonEvent } from '@toolhive/contract/event';
import { openProcessRuntime } from '@toolhive/runtime/process';
import { type GitServer, openGitServer } from '@toolhive/runtime/testing/git-server';
import { beforeEach, expect, test } from 'vitest';
import type { Core } from '../../core.ts';
import { makeHome, openTestCore } from '../../testing/test-core.ts';
import { createWorkload } from '../creation/create.ts';
import { getWorkload, listWorkloads } from '../describe.ts';
import { findUpdate, upgradeWorkload } from './upgrade.ts';

let git: GitServer;
let core: Core;

beforeEach(async () => {
  const home = await makeHome();
  git = await openGitServer();
  core = await openTestCore(home, {
    runtimes: (daemonId, paths) => [
      openProcessRuntime({
        daemonId,
        cacheDir: join(paths.cache, 'packages'),
        tempDir: paths.temp,
        bundlesDir: paths.bundles,
        homesDir: paths.homes,
        env: home.env,
      }),
    ],
  });
  return async () => {
    await core[Symbol.asyncDispose]();
    await git[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  };
});

const call = { report: () => {}, signal: new AbortController().signal };

const commit = (says: string) =>
  git.commit('owner/server', {
    'package.json': JSON.stringify({ name: 'server', version: '1.0.0', bin: 'main.js' }),
    'main.js': `#!/usr/bin/env node\n// ${says}\nprocess.stdin.resume();\n`,
  });

test('a package from Git is outdated when its branch has another commit, and an upgrade runs that commit', async () => {
  const first = await commit('first');
  const { name } = await createWorkload(core, { image: `npx://git+${git.origin}/owner/server#main` }, call);
  const before = await findUpdate(core, name, call);
  const second = await commit('second');

  const after = await findUpdate(core, name, { ...call, withChanges: true });
  await upgradeWorkload(core, name, second, call);

  expect(name).toBe('owner-server');
  expect(before).toMatchObject({ current: first, newest: first, outdated: false });
  expect(after).toMatchObject({ current: first, newest: second, outdated: true });
  expect((await getWorkload(core, name)).image).toBe(
    `npx://git+${git.origin}/owner/server@${second}#ref=main`,
  );
  expect(await findUpdate(core, name, call)).toMatchObject({ current: second, outdated: false });
});

test('lists show a newer version from its lookup until the upgrade, and events tell of it once', async () => {
  await commit('first');
  const { name } = await createWorkload(core, { image: `npx://git+${git.origin}/owner/server#main` }, call);
  const newer = () => listWorkloads(core, { all: true })[0]?.newer_version;
  const second = await commit('second');
  const unasked = newer();

  await findUpdate(core, name, call);
  await findUpdate(core, name, call);
  const asked = newer();
  await upgradeWorkload(core, name, second, call);

  expect([unasked, asked, newer()]).toEqual([undefined, second, undefined]);
  core.events.emit({ type: 'secrets.changed' }); // the last one
  const told: DaemonEvent[] = [];
  for await (const { event } of core.events.watch('0', call.signal)) {
    if (event.type === 'secrets.changed') break;
    if (event.type === 'update.found') told.push(event);
  }
  expect(told).toEqual([{ type: 'update.found', at: expect.any(String) as string, name, version: second }]);
});

test('a package that is pinned to a commit is compared with the default branch', async () => {
  const first = await commit('first');
  const second = await commit('second');
  const image = `npx://git+${git.origin}/owner/server#${first}`;

  const { name } = await createWorkload(core, { image }, call);

  expect(await findUpdate(core, name, call)).toMatchObject({
    current: first,
    newest: second,
    outdated: true,
  });
});
