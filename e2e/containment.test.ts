// @suite faults
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chaosTimeoutMs, openChaos } from '@toolhive/runtime/testing/chaos';
import { childrenOf } from '@toolhive/runtime/testing/processes';
import { expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo } from './testing/mcp.ts';
import type { TestClient } from './testing/mcp.ts';
import { makeUser, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

const daemonLog = (user: User): Promise<string> =>
  readFile(join(user.home, '.local/state/toolhive/hive.log'), 'utf8').catch(() => '');

async function runWorkload(user: User, name: string, ...flags: string[]): Promise<string> {
  const words = ['--name', name, '--proxy-mode', 'streamable-http', ...flags];
  const stdout = await user.mustThv('run', testServer, ...words, '--', 'echo');
  return /http:\S+/.exec(stdout)?.[0] ?? '';
}

/** A mistake in the daemon, which a text brings out wherever it is parsed: in a promise, and in a timer. */
const sabotage = `
const { parse } = JSON;
JSON.parse = (text, ...rest) => {
  if (String(text).includes('sabotage promise')) Promise.reject(new Error('sabotaged promise'));
  if (String(text).includes('sabotage timer')) setTimeout(() => { throw new Error('sabotaged timer') }, 1);
  return parse(text, ...rest);
};
`;

test.each(['promise', 'timer'])(
  'a fault in a %s that a server or its client causes stops this server with a reason, and nothing else',
  async (how) => {
    proves('security.network.contained');
    await using user = await makeUser();
    const file = join(user.home, 'sabotage.mjs');
    await writeFile(file, sabotage);
    user.env['NODE_OPTIONS'] = `--import=${pathToFileURL(file).href}`;
    const one = await runWorkload(user, 'one');
    await using other = await connectTo(await runWorkload(user, 'other'));
    const pid = await user.daemonPid();

    const call = async (): Promise<unknown> => {
      await using client = await connectTo(one);
      return await client.call('echo', { message: `sabotage ${how}` });
    };
    await call().catch(() => {}); // its server is stopped meanwhile

    await until(async () => (await daemonLog(user)).includes('uncaught failure, the server is stopped'));
    expect(await user.daemonPid()).toBe(pid);
    expect((await other.call('echo', { message: 'still here' })).text).toContain('still here');
    expect(await user.mustThv('logs', 'one', '--proxy')).toContain(
      `internal error of ToolHive: sabotaged ${how}`,
    );
    await until(async () => {
      await using client = (await connectTo(one).catch(() => undefined)) as TestClient;
      return await client?.call('echo', { message: 'again' });
    });
  },
);

/** Programs for the servers' network, whose answers come late or never. */
const programs = [
  `const { Resolver } = require('node:dns'); for (let i = 0; i < 50; i += 1) new Resolver().resolve4('host' + i + '.example', () => {}); setTimeout(() => process.exit(), 5)`,
  `const s = require('node:net').connect(443, '198.18.1.0', () => s.write(Buffer.from([22, 3, 1]), () => process.exit())).on('error', () => {})`,
  `for (let i = 0; i < 100; i += 1) require('node:net').connect(80, '192.0.2.1').on('error', () => {}); setTimeout(() => process.exit(), 5)`,
  `const d = require('node:dgram').createSocket('udp4'); for (let i = 0; i < 500; i += 1) d.send(require('node:crypto').randomBytes(40), 53, '198.18.0.1'); setTimeout(() => process.exit(), 5)`,
];

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!String(error).includes('ESRCH')) throw error;
  }
}

test(
  'whatever ends at whatever time, the daemon goes on',
  async () => {
    proves('security.network.contained');
    const chaos = openChaos(25);
    await using user = await makeUser();
    const names = ['one', 'two', 'three'];
    const urls = new Map<string, string>();
    for (const name of names) urls.set(name, await runWorkload(user, name));
    const pid = await user.daemonPid();
    const api = (method: string, path: string): Promise<unknown> =>
      user.api(method, `/api/v1beta${path}`).catch(() => {});
    const call = async (name: string): Promise<unknown> => {
      await using client = await connectTo(urls.get(name) ?? '');
      return await client.call('execute', {
        command: '/opt/toolhive/bin/node',
        args: ['-e', chaos.oneOf(programs)],
      });
    };
    const kill = (pids: readonly number[]): void => {
      const victim = pids.length === 0 ? undefined : chaos.oneOf(pids);
      if (victim !== undefined) killIfAlive(victim);
    };
    const gateways = (): number[] => childrenOf(pid, 'gateway');
    const sandboxes = (): number[] => childrenOf(pid, 'bwrap');

    await chaos.rounds(async () => {
      const name = chaos.oneOf(names);
      const settled: Promise<unknown>[] = [];
      const track = (work: () => Promise<unknown>) => () => void settled.push(work().catch(() => {}));
      const operation = chaos.oneOf(['stop', 'restart', 'restart', 'restart']);
      await chaos.atRandomTurns(
        [
          track(() => call(name)),
          track(() => call(chaos.oneOf(names))),
          track(() => api('POST', `/workloads/${name}/${operation}`)),
          track(() => api('POST', `/workloads/${chaos.oneOf(names)}/restart`)),
          () => kill(chaos.pick(3) === 0 ? sandboxes() : []),
          () => kill(chaos.pick(6) === 0 ? gateways() : []),
        ],
        60,
      );
      await Promise.all(settled);
      expect(await user.daemonPid()).toBe(pid);
    });

    const log = await daemonLog(user);
    expect(log).not.toMatch(/uncaught failure/);
    for (const name of names) await user.mustThv('restart', name);
    for (const name of names)
      await until(async () =>
        call(name).then(
          () => true,
          () => false,
        ),
      );
  },
  chaosTimeoutMs,
);
