import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { RunConfig } from '@toolhive/contract/run-config';
import { statePaths } from '@toolhive/state/paths';
import { expect, test } from 'vitest';
import type { Core } from '../core.ts';
import { makeHome, openTestCore, testServer } from '../testing/test-core.ts';
import type { TestHome } from '../testing/test-core.ts';
import { aRunConfig } from '../testing/run-config.ts';
import { createWorkload, editWorkload } from '../workloads/creation/create.ts';
import { chooseAgain } from '../workloads/creation/port.ts';
import { startWorkload, stopWorkload } from '../workloads/operate.ts';

const call = { report: () => {}, signal: new AbortController().signal };
const echo = { name: 'test', image: testServer, cmd_arguments: ['echo'] };

/** Another program that listens on a port. */
async function takePort(port = 0): Promise<AsyncDisposable & { port: number }> {
  const other = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    other.once('error', reject);
    other.listen(port, '127.0.0.1', resolve);
  });
  return {
    port: (other.address() as AddressInfo).port, // it listens on a port
    [Symbol.asyncDispose]: () => new Promise((resolve) => other.close(() => resolve())),
  };
}

/** Creates a workload, and stops it, so that its port is free. */
async function createStopped(core: Core, proxyPort?: number): Promise<number> {
  const { port } = await createWorkload(core, { ...echo, proxy_port: proxyPort }, call);
  await core.workloads.require('test').follow(() => {});
  await (await stopWorkload(core, 'test')).follow(() => {}, call.signal);
  return port;
}

async function storedPort({ env }: TestHome): Promise<number> {
  const path = join(statePaths(env).runConfigs, 'test.json');
  return RunConfig.parse(JSON.parse(await readFile(path, 'utf8'))).port;
}

test('a workload whose automatic port another program uses gets another port', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  const port = await createStopped(core);
  await using _other = await takePort(port);

  await startWorkload(core, 'test');
  await core.workloads.require('test').follow(() => {});

  const { runConfig } = core.workloads.require('test');
  expect(runConfig.port).not.toBe(port);
  expect(await storedPort(home)).toBe(runConfig.port);
  expect((await fetch(`http://127.0.0.1:${runConfig.port}/health`)).ok).toBe(true);
});

test('an edit that sends the port back keeps it automatic', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  const port = await createStopped(core);
  await using _other = await takePort(port);

  await editWorkload(core, 'test', { ...echo, proxy_port: port }, call);
  await core.workloads.require('test').follow(() => {});

  expect(core.workloads.require('test').runConfig.port).not.toBe(port);
});

test('a workload keeps the port that the user chose', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  const chosen = await takePort();
  await chosen[Symbol.asyncDispose]();
  const port = await createStopped(core, chosen.port);
  await using _other = await takePort(port);

  await startWorkload(core, 'test');

  await expect(core.workloads.require('test').follow(() => {})).rejects.toThrow(
    `port ${port} of workload test is in use by another program`,
  );
  expect(core.workloads.require('test').runConfig.port).toBe(port);
});

test('an imported run config gets another port if its automatic port is in use', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await createStopped(core);
  const exported = core.workloads.require('test').runConfig;
  await using other = await takePort();

  await createWorkload(core, { ...exported, name: 'moved', port: other.port }, call);
  const asked = createWorkload(
    core,
    { ...exported, name: 'asked', port: other.port, automatic_port: false },
    call,
  );

  await expect(asked).rejects.toThrow(`port ${other.port} is in use`);
  expect(core.workloads.require('moved').runConfig.port).not.toBe(other.port);
});

test('a port that was taken during the installation is chosen again', async () => {
  await using other = await takePort();
  const claim = (): boolean => true;
  const reservation = { claim, [Symbol.dispose]() {} };
  const runConfig = aRunConfig({ port: other.port });

  const chosen = await chooseAgain({ ...runConfig, automatic_port: true }, reservation);
  const asked = await chooseAgain(runConfig, reservation);

  expect(chosen.port).not.toBe(other.port);
  expect(asked.port).toBe(other.port);
});
