import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { openMemoryRuntime } from '@toolhive/runtime/memory';
import type { Runtime } from '@toolhive/runtime/runtime';
import { memoryTestServers } from '@toolhive/runtime/testing/memory-servers';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import type { Core } from '../core.ts';
import { cheapCost, memoryKeyring } from '@toolhive/secrets/testing/keyrings';
import { statePaths } from '@toolhive/state/paths';
import { makeHome, openTestCore, quickTiming, testServer } from '../testing/test-core.ts';
import { createWorkload } from '../workloads/creation/create.ts';
import {
  deleteWorkload,
  logsOf,
  restartWorkload,
  startWorkload,
  stopWorkload,
} from '../workloads/operate.ts';

const never = new AbortController().signal;
const silently = { report: () => {}, signal: never };

/** All clients share its server, so that what a test calls reaches the one that is supervised. */
async function run(core: Core, ...cmd_arguments: string[]): Promise<void> {
  await createWorkload(
    core,
    { name: 'test', image: testServer, cmd_arguments, sessions: 'shared' },
    silently,
  );
  await core.workloads.require('test').follow(() => {});
}

test('reports a server that never answers initialize, and leaves it alone after a few attempts', async () => {
  proves('bad.silent');
  await using home = await makeHome();
  await using core = await openTestCore(home, { timing: { ...quickTiming, startMs: 50 } });

  await expect(run(core, 'silent')).rejects.toThrow(/did not answer initialize within 0.05 seconds/);

  const isLeftAlone = (): boolean => {
    const { status, context } = core.workloads.require('test').condition;
    return status === 'error' && context?.includes('next attempt') === false;
  };
  await until(isLeftAlone);
});

test('says what a server wrote that exits at once', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);

  await expect(run(core, 'exit-at-once')).rejects.toThrow(
    /exited with code 3; last output: cannot start: THE_SETTING is not set/,
  );

  expect(await logsOf(core, 'test', 'server', { tail: 100 }, never)).toContain('THE_SETTING is not set');
});

test('starts nothing for a late request after the daemon has ended', async () => {
  await using home = await makeHome();
  const core = await openTestCore(home);
  await run(core, 'echo');
  const supervisor = core.workloads.require('test');
  const { port } = supervisor.runConfig;

  await core[Symbol.asyncDispose]();

  await expect(supervisor.restart()).rejects.toThrow('the daemon is shutting down');
  await expect(supervisor.start()).rejects.toThrow('the daemon is shutting down');
  await expect(core.workloads.amend('test', (runConfig) => runConfig)).rejects.toThrow(
    'the daemon is shutting down',
  );
  const another = { name: 'other', image: testServer, cmd_arguments: ['echo'] };
  await expect(createWorkload(core, another, silently)).rejects.toThrow();
  expect(core.workloads.find('other')).toBeUndefined();
  expect(supervisor.live.proxy).toBeUndefined();
  await expect(callTool(port, 'echo')).rejects.toThrow();
});

test('stops a server that floods it, says why, and starts it again', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await run(core, 'flood');
  const { port } = core.workloads.require('test').runConfig;
  const contexts = new Set<string | undefined>();

  await callTool(port, 'echo');
  await until(() => {
    const { status, context } = core.workloads.require('test').condition;
    if (status === 'error') contexts.add(context);
    return contexts.size > 0;
  });
  await until(() => core.workloads.require('test').condition.status === 'running');

  expect([...contexts].join()).toContain(
    'the server was stopped because its output contained more than 10,000 lines or events that are not JSON-RPC messages',
  );
});

test('says why a server does not end, and that it may still run', async () => {
  await using home = await makeHome();
  const memory = openMemoryRuntime(memoryTestServers);
  const engine = { hangs: false, givesUp: Promise.withResolvers<void>() };
  const runtime: Runtime = {
    ...memory,
    async check(signal) {
      const report = await memory.check(signal);
      return engine.hangs ? { ...report, available: false, detail: 'the engine did not answer' } : report;
    },
    async start(launch, signal) {
      const instance = await memory.start(launch, signal);
      const stop = async (graceMs: number): Promise<void> => {
        await instance.stop(graceMs);
        if (engine.hangs) await engine.givesUp.promise;
      };
      return { ...instance, exited: instance.exited, stop };
    },
  };
  await using core = await openTestCore(home, { runtimes: () => [runtime] });
  await run(core, 'echo');
  engine.hangs = true;
  const reported: string[] = [];

  const { follow } = await stopWorkload(core, 'test');
  const stopped = follow((message) => reported.push(message), never);
  const { condition } = core.workloads.require('test');
  await until(() => reported.length > 1);
  const during = core.workloads.require('test').condition;
  engine.givesUp.reject(new Error('no answer within 60 s'));
  await stopped;

  const unended = 'it has not ended yet: the engine did not answer';
  const remains = 'the server may still run: no answer within 60 s';
  expect(condition.status).toBe('stopping');
  expect(during).toMatchObject({ status: 'stopping', context: unended });
  expect(reported).toEqual(['stopping test', unended, remains]);
  expect(core.workloads.require('test').condition).toMatchObject({ status: 'stopped', context: remains });
});

test('gives the name of a failed workload to the next one', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await expect(run(core, 'exit-at-once')).rejects.toThrow();
  await until(() => core.workloads.require('test').condition.status === 'error');

  await run(core, 'echo');

  expect(core.workloads.require('test').condition.status).toBe('running');
});

test('starts a server again that ended, without being asked', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await run(core, 'echo');
  const { port } = core.workloads.require('test').runConfig;
  const statuses = new Set<string>();

  await callTool(port, 'crash');
  await until(() => statuses.add(core.workloads.require('test').condition.status).has('error'));
  await until(() => core.workloads.require('test').condition.status === 'running');

  expect([...statuses]).toContain('error');
});

test('ends as the last call says, whatever came before', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await run(core, 'echo');

  const calls = [
    stopWorkload(core, 'test'),
    restartWorkload(core, 'test'),
    stopWorkload(core, 'test'),
    restartWorkload(core, 'test'),
  ];
  await Promise.all(calls);
  await core.workloads.require('test').follow(() => {});
  await until(() => core.workloads.require('test').condition.status === 'running');

  expect(core.workloads.require('test').condition.status).toBe('running');
});

test.each(['start', 'restart'] as const)('%s of a workload that runs', async (kind) => {
  const runtime = openMemoryRuntime(memoryTestServers);
  const given: unknown[] = [];
  const telling: Runtime = {
    ...runtime,
    start: (launch, signal) => {
      given.push(launch.secrets['TOKEN']);
      return runtime.start(launch, signal);
    },
  };
  await using home = await makeHome();
  await using core = await openTestCore(home, {
    runtimes: () => [telling],
    secrets: { keyring: memoryKeyring(), cost: cheapCost },
  });
  await core.secrets.setup({ provider_type: 'encrypted' });
  await core.secrets.create('token', 'first');
  const secrets = [{ name: 'token', target: 'TOKEN' }];
  await createWorkload(core, { name: 'test', image: testServer, secrets, sessions: 'shared' }, silently);
  await core.workloads.require('test').follow(() => {});
  await core.secrets.update('token', 'second');

  const operate = { start: startWorkload, restart: restartWorkload }[kind];
  await (await operate(core, 'test')).follow(() => {}, never);

  expect(given).toEqual(kind === 'start' ? ['first'] : ['first', 'second']);
  expect(core.workloads.require('test').condition.status).toBe('running');
});

test('stops a workload that is still starting', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home, { timing: { ...quickTiming, startMs: 60_000 } });
  await createWorkload(core, { name: 'test', image: testServer, cmd_arguments: ['silent'] }, silently);

  const stopping = await stopWorkload(core, 'test');
  await stopping.follow(() => {}, never);

  expect(core.workloads.require('test').condition.status).toBe('stopped');
  expect(await isOpen(core.workloads.require('test').runConfig.port)).toBe(false);
});

test('a new daemon continues where the last one ended', async () => {
  await using home = await makeHome();
  {
    await using core = await openTestCore(home);
    await run(core, 'echo');
    await createWorkload(core, { name: 'stopped', image: testServer }, silently);
    await (await stopWorkload(core, 'stopped')).follow(() => {}, never);
  }

  await using core = await openTestCore(home);
  await core.workloads.require('test').follow(() => {});

  expect(core.workloads.all().map(({ runConfig, condition }) => [runConfig.name, condition.status])).toEqual([
    ['stopped', 'stopped'],
    ['test', 'running'],
  ]);
});

test('a new daemon finishes a removal', async () => {
  await using home = await makeHome();
  {
    await using core = await openTestCore(home);
    await run(core, 'echo');
    await core.workloads.require('test').remove(async () => {}); // and ends before it forgets it
  }

  await using core = await openTestCore(home);

  expect(core.workloads.all()).toEqual([]);
});

test('removes all of a workload', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await run(core, 'chatty');
  const { port } = core.workloads.require('test').runConfig;

  await (await deleteWorkload(core, 'test')).follow(() => {}, never);

  expect(core.workloads.all()).toEqual([]);
  expect(await isOpen(port)).toBe(false);
  expect(await openTestCore(home).catch((error: Error) => error.message)).toMatch(/another daemon owns/);
});

test('gives two requests at once two ports, and one name to one of them', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  const create = (name: string) => createWorkload(core, { name, image: testServer }, silently);

  const [one, two, same] = await Promise.allSettled([create('one'), create('two'), create('one')]);

  expect([one.status, two.status, same.status]).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  expect(new Set(core.workloads.all().map(({ runConfig }) => runConfig.port)).size).toBe(2);
});

test('loses no stop or removal of a workload that begins to run at the same moment', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  const names = Array.from({ length: 30 }, (_, index) => `test-${index}`);
  await Promise.all(names.map((name) => createWorkload(core, { name, image: testServer }, silently)));

  const ended = names.map(async (name, index) => {
    const supervisor = core.workloads.require(name);
    await (index % 2 === 0 ? stopWorkload(core, name) : deleteWorkload(core, name));
    return supervisor.condition.status;
  });

  expect(new Set(await Promise.all(ended))).not.toContain('running');
});

test('can be started, stopped and removed after its error could not be saved', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await run(core, 'echo');
  const { runConfig } = core.workloads.require('test');
  const path = join(statePaths(home.env).statuses, 'test.json');
  await rm(path);
  await mkdir(join(path, 'in-the-way'), { recursive: true });
  await callTool(runConfig.port, 'crash');
  await until(() => core.workloads.require('test').condition.status === 'error');

  await core.workloads
    .require('test')
    .follow(() => {})
    .catch(() => {});
  await core.workloads.require('test').restart();
  await until(() => core.workloads.require('test').condition.status === 'running');
  await (await stopWorkload(core, 'test')).follow(() => {}, never);
  await rm(path, { recursive: true });
  await (await deleteWorkload(core, 'test')).follow(() => {}, never);

  expect(core.workloads.all()).toEqual([]);
});

test('a removal that failed can be tried again', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home);
  await run(core, 'echo');
  const path = join(statePaths(home.env).runConfigs, 'test.json');
  await rm(path);
  await mkdir(path);
  const first = await deleteWorkload(core, 'test');
  await expect(first.follow(() => {}, never)).rejects.toThrow(`cannot remove ${path}`);
  expect(core.workloads.require('test').condition.context).toContain('run thv rm test to try again');

  await rm(path, { recursive: true });
  await (await deleteWorkload(core, 'test')).follow(() => {}, never);

  expect(core.workloads.all()).toEqual([]);
});

test('a caller that follows a start is told that the workload was removed', async () => {
  await using home = await makeHome();
  await using core = await openTestCore(home, { timing: { ...quickTiming, startMs: 60_000 } });
  await createWorkload(core, { name: 'test', image: testServer, cmd_arguments: ['silent'] }, silently);
  const following = core.workloads.require('test').follow(() => {});
  following.catch(() => {}); // told below

  await (await deleteWorkload(core, 'test')).follow(() => {}, never);

  await expect(following).rejects.toMatchObject({ kind: 'not-found', message: 'workload test was removed' });
});

test('a workload whose runtime is unknown keeps its name, and says what is wrong', async () => {
  await using home = await makeHome();
  {
    await using core = await openTestCore(home);
    await run(core, 'echo');
  }
  const path = join(statePaths(home.env).runConfigs, 'test.json');
  const runConfig = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, JSON.stringify({ ...runConfig, runtime: 'docker' }));

  await using core = await openTestCore(home);
  await until(() => core.workloads.require('test').condition.status === 'error');

  expect(core.workloads.require('test').condition.context).toContain('unknown runtime "docker"');
});

test('a server that has worked is tried without a limit, also by the next daemon', async () => {
  const runtime = openMemoryRuntime(memoryTestServers);
  let isBroken = false;
  let attempts = 0;
  const fragile: Runtime = {
    ...runtime,
    start: async (...given) => {
      attempts += 1;
      if (isBroken) throw new Error('the machine is busy');
      return runtime.start(...given);
    },
  };
  await using home = await makeHome();
  {
    await using core = await openTestCore(home, { runtimes: () => [fragile] });
    await run(core, 'echo');
    isBroken = true;
    await callTool(core.workloads.require('test').runConfig.port, 'crash');
    await until(() => core.workloads.require('test').condition.status === 'error');
  }
  attempts = 0;

  await using core = await openTestCore(home, { runtimes: () => [fragile] });
  await until(() => attempts > quickTiming.firstAttempts + 1);
  isBroken = false;
  await until(() => core.workloads.require('test').condition.status === 'running');

  expect(core.workloads.require('test').condition.status).toBe('running');
});

async function callTool(port: number, name: string): Promise<void> {
  await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }),
  });
}

async function isOpen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: '127.0.0.1', port });
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  const isThere = await promise;
  socket.destroy();
  return isThere;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}
