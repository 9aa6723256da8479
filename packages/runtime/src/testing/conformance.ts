import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { testPort } from '@toolhive/testing/port';
import { proves } from '@toolhive/testing/promises';
import { pinMounts } from '../mount-source.ts';
import { describeExit } from '../runtime.ts';
import type { Instance, Launch, LaunchNetwork, ResourceLimits, Runtime } from '../runtime.ts';
import type { ServerSource } from '../source.ts';
import { Conversation } from './talk.ts';
import { TestEgress } from './test-egress.ts';

/** A runtime to be tested, and the test servers as it gets them. */
export interface RuntimeRig extends AsyncDisposable {
  runtime: Runtime;
  /** `packages/test-servers`, as a package or an image. */
  source: ServerSource;
  /** A source that this runtime could run if it existed. */
  missing: ServerSource;
  /** The name of the host as servers with an open network reach it; undefined where that cannot be told. */
  hostName?: string;
}

const MEBIBYTE = 1024 ** 2;

/** Limits that test servers need, and no more. */
export const testLimits: ResourceLimits = {
  memoryBytes: 512 * MEBIBYTE,
  processes: 64,
  openFiles: 1024,
  cpus: 1,
  diskBytes: 512 * MEBIBYTE,
  temporaryBytes: 64 * MEBIBYTE,
};

/** A launch of a test server with everything at its default. */
export function aLaunch(source: ServerSource, changes: Partial<Launch> = {}): Launch {
  return {
    workload: 'test-server',
    source,
    args: ['echo'],
    env: {},
    secrets: {},
    transport: { kind: 'stdio' },
    mounts: [],
    hidden: [],
    home: 'ephemeral',
    network: { kind: 'none' },
    limits: testLimits,
    labels: {},
    privileged: false,
    log: () => {},
    ...changes,
  };
}

/**
 * What every runtime promises: the same cases for all of them. One that `isolates` shows its servers nothing of
 * this machine but what they are given; the memory runtime, which only pretends to run them, does not.
 */
export function describeRuntime(
  name: string,
  { isolates }: { isolates: boolean },
  open: () => Promise<RuntimeRig>,
): void {
  describe(`the ${name} runtime`, () => {
    let rig: RuntimeRig;
    let source: ServerSource;
    const started: Instance[] = [];
    const never = new AbortController().signal;

    beforeAll(async () => {
      rig = await open();
      source = await rig.runtime.prepare(rig.source, { report: () => {}, signal: never });
    });
    afterEach(async () => {
      await Promise.all(started.splice(0).map((instance) => instance[Symbol.asyncDispose]()));
    });
    afterAll(async () => rig?.[Symbol.asyncDispose]());

    async function start(changes: Partial<Launch> = {}): Promise<Instance> {
      const instance = await rig.runtime.start(aLaunch(source, changes), never);
      started.push(instance);
      return instance;
    }

    async function talk(changes: Partial<Launch> = {}): Promise<Conversation & { instance: Instance }> {
      const instance = await start(changes);
      if (instance.stdio === undefined) throw new Error('the instance speaks no stdio');
      return Object.assign(new Conversation(instance.stdio), { instance });
    }

    test('says that it is there, and what answered', async () => {
      const report = await rig.runtime.check();

      expect(report).toMatchObject({ runtime: rig.runtime.name, available: true });
      expect(report.detail).not.toBe('');
    });

    test('prepares a prepared source again without changing it', async () => {
      const again = await rig.runtime.prepare(source, { report: () => {}, signal: never });

      expect(again).toEqual(source);
    });

    test('says that a source does not exist', async () => {
      const preparing = rig.runtime.prepare(rig.missing, { report: () => {}, signal: never });

      await expect(preparing).rejects.toMatchObject({ name: 'ThvError', kind: 'not-found' });
    });

    test('connects a server by its standard input and output', async () => {
      const server = await talk();

      const { result } = await server.request('initialize', { protocolVersion: '2025-11-25' });

      expect(result?.protocolVersion).toBe('2025-11-25');
    });

    test('measures what a server uses', async () => {
      const server = await talk();
      await server.request('initialize', { protocolVersion: '2025-11-25' });

      const usage = await server.instance.usage?.();

      expect(usage?.memoryBytes).toBeGreaterThan(1024 ** 2);
      expect(usage?.cpuMs).toBeGreaterThan(0);
      expect(usage?.processes).toBeGreaterThanOrEqual(1);
    });

    test('hands over arguments as they are', async () => {
      const server = await talk({ args: ['echo', '--flag', 'two words', '$HOME', '"quoted"', ''] });

      const { text } = await server.call('arguments');

      expect(JSON.parse(text)).toEqual(['--flag', 'two words', '$HOME', '"quoted"', '']);
    });

    test('gives the environment that was asked for', async () => {
      const server = await talk({ env: { GREETING: 'grüß\nGott', EMPTY: '' } });

      const { text } = await server.call('environment');

      expect(JSON.parse(text)).toMatchObject({ GREETING: 'grüß\nGott', EMPTY: '' });
    });

    test('hands over secrets as they are, and shows them in no argument list', async () => {
      const secrets = {
        TOKEN: `canary-${randomUUID()}`,
        ODD: oddValue,
        LARGE: 'x'.repeat(64 * 1024),
        EMPTY: '',
      };
      const server = await talk({ secrets, env: { TOKEN: 'of the environment', GREETING: 'grüß Gott' } });

      const { text } = await server.call('environment');
      const lines = await commandLines();

      expect(JSON.parse(text)).toMatchObject({ ...secrets, GREETING: 'grüß Gott' });
      expect(lines.filter((line) => line.includes(secrets.TOKEN))).toEqual([]);
    });

    test('connects a server that was given secrets as it connects any other', async () => {
      const server = await talk({ args: ['echo', 'two words', ''], secrets: { TOKEN: 'value' } });

      const { text } = await server.call('arguments');
      const echoed = await server.call('echo', { message: 'y'.repeat(2_000_000) });

      expect(JSON.parse(text)).toEqual(['two words', '']);
      expect(echoed.text).toHaveLength(2_000_000);
    });

    test('reaches a server that speaks HTTP and was given secrets', async () => {
      const instance = await start({ args: ['http'], ...http(18_081), secrets: { TOKEN: 'value' } });

      const status = await waitFor(() => statusOf(instance, '/nothing-here'));

      expect(status).toBe(404);
    });

    test.each([
      ['a name that no shell knows', { 'a.b': 'canary' }],
      ['a value that no process could be given', { TOKEN: 'canary\0' }],
    ])('refuses a secret with %s, and does not repeat it', async (_what, secrets) => {
      const failure = await start({ secrets }).catch((error: unknown) => error);

      expect(failure).toMatchObject({ kind: 'invalid' });
      expect(inspect(failure)).not.toContain('canary');
    });

    test('carries large messages both ways', async () => {
      const server = await talk();

      const echoed = await server.call('echo', { message: 'y'.repeat(2_000_000) });

      expect(echoed.text).toHaveLength(2_000_000);
    });

    test('logs what a server writes to standard error, and nothing of its protocol', async () => {
      const log: Buffer[] = [];
      const server = await talk({ log: (chunk) => log.push(chunk) });

      await server.call('complain', { message: 'the disk is full' });

      await waitFor(() => Buffer.concat(log).includes('the disk is full'));
      expect(Buffer.concat(log).toString()).not.toContain('jsonrpc');
    });

    test('reaches a server that speaks HTTP', async () => {
      const instance = await start({ args: ['http'], ...http(18_080) });

      const status = await waitFor(() => statusOf(instance, '/nothing-here'));

      expect(status).toBe(404);
    });

    test('tells how a server ended by itself', async () => {
      const server = await talk();

      server.send('crash', { code: 7 });
      const exit = await server.instance.exited;

      expect(describeExit(exit)).toBe('exited with code 7');
    });

    test('tells how a server ended that never began, and what it said', async () => {
      const log: Buffer[] = [];
      const instance = await start({ args: ['exit-at-once'], log: (chunk) => log.push(chunk) });

      const exit = await instance.exited;

      expect(exit.code).toBe(3);
      expect(Buffer.concat(log).toString()).toContain('THE_SETTING is not set');
    });

    test('stops a server, as often as it is asked to', async () => {
      const server = await talk();
      await server.request('ping');

      await Promise.all([server.instance.stop(5000), server.instance.stop(5000)]);
      await server.instance.stop(5000);

      await expect(server.instance.exited).resolves.toBeDefined();
    });

    test('insists when a server does not want to end', async () => {
      const server = await talk({ args: ['stubborn'] });
      await server.request('ping');

      await server.instance.stop(100);

      await expect(server.instance.exited).resolves.toBeDefined();
    });

    test('starts nothing for somebody who has given up', async () => {
      const starting = rig.runtime.start(aLaunch(source), AbortSignal.abort(new Error('given up')));

      await expect(starting).rejects.toThrow();
    });

    test('runs workloads beside each other', async () => {
      const [one, two] = await Promise.all([talk({ workload: 'one' }), talk({ workload: 'two' })]);

      await one.instance.stop(1000);

      expect((await two.call('echo', { message: 'still here' })).text).toBe('still here');
    });

    test('can run a workload again at once', async () => {
      const first = await talk();
      await first.request('ping');
      await first.instance.stop(1000);

      const second = await talk();

      expect((await second.call('echo', { message: 'again' })).text).toBe('again');
    });

    test('sweeps up without harm when there is nothing to sweep', async () => {
      await expect(rig.runtime.sweep()).resolves.toBeUndefined();
    });

    if (!isolates) return;
    describe('isolation', () => {
      let folder: string;

      beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), 'thv-grant-'));
        await writeFile(join(folder, 'file.txt'), 'granted');
      });
      afterAll(() => rm(folder, { recursive: true, force: true }));

      test('shows nothing of the environment of the daemon', async () => {
        process.env['THV_TEST_HOST_SECRET'] = 'of the host';
        const server = await talk();

        const { text } = await server.call('environment');

        delete process.env['THV_TEST_HOST_SECRET'];
        expect(text).not.toContain('THV_TEST_HOST_SECRET');
      });

      test('shows no file that was not granted', async () => {
        const server = await talk();

        const answers = await Promise.all(
          [join(folder, 'file.txt'), '/etc/shadow', process.execPath, import.meta.filename].map((path) =>
            server.call('read', { path }),
          ),
        );

        expect(answers.map(({ failed }) => failed)).toEqual([true, true, true, true]);
      });

      test('shows a granted folder for reading only', async () => {
        const server = await talk({
          mounts: await pinMounts([{ source: folder, target: '/granted', readOnly: true }]),
        });

        const read = await server.call('read', { path: '/granted/file.txt' });
        const write = await server.call('write', { path: '/granted/new.txt' });

        expect(read.text).toBe('granted');
        expect(write).toMatchObject({ failed: true, text: expect.stringMatching(/EROFS|EACCES|EPERM/) });
      });

      test('lets a granted folder be written', async () => {
        const server = await talk({
          mounts: await pinMounts([{ source: folder, target: '/granted', readOnly: false }]),
        });

        const write = await server.call('write', { path: '/granted/written.txt', content: 'by the server' });

        expect(write.failed).toBe(false);
        expect(await readFile(join(folder, 'written.txt'), 'utf8')).toBe('by the server');
      });

      test('does not start with a granted directory that was replaced by a link', async () => {
        const granted = await mkdtemp(join(tmpdir(), 'thv-granted-'));
        const mounts = await pinMounts([{ source: granted, target: '/granted', readOnly: false }]);
        await rm(granted, { recursive: true });
        await symlink('/', granted);

        await expect(start({ mounts })).rejects.toMatchObject({
          kind: 'conflict',
          message: expect.stringContaining(`mount source ${granted} has changed since you granted access`),
        });

        await rm(granted);
      });

      test('does not start with another directory in the place of the granted one', async () => {
        const granted = await mkdtemp(join(tmpdir(), 'thv-granted-'));
        const mounts = await pinMounts([{ source: granted, target: '/granted', readOnly: false }]);
        await mkdir(`${granted}-other`); // before the first is removed, so that it cannot get the same inode
        await rm(granted, { recursive: true });
        await rename(`${granted}-other`, granted);

        await expect(start({ mounts })).rejects.toMatchObject({ kind: 'conflict' });

        await rm(granted, { recursive: true });
      });

      test('keeps the system read-only and a place for temporary files', async () => {
        const server = await talk();

        const system = await server.call('write', { path: '/usr/new' });
        const temporary = await server.call('write', { path: '/tmp/new' });

        expect([system.failed, temporary.failed]).toEqual([true, false]);
      });

      test('has no network unless it was given one', async () => {
        proves('security.network.none');
        await using host = await listening();
        const server = await talk({ network: { kind: 'none' } });

        const dialled = await Promise.all(
          ['127.0.0.1', rig.hostName ?? '127.0.0.1'].map((name) =>
            server.call('dial', { host: name, port: host.port, ms: 500 }),
          ),
        );

        expect(dialled.map(({ failed }) => failed)).toEqual([true, true]);
      });

      describe('a published port', () => {
        const networks: Record<string, () => LaunchNetwork> = {
          rules: () => ({ kind: 'rules', egress: new TestEgress() }),
          open: () => ({ kind: 'open' }),
        };

        /** A server that speaks stdio, and listens on a port besides. */
        async function listeningServer(network: LaunchNetwork, port: number): Promise<Instance> {
          return start({
            args: ['http'],
            env: { MCP_PORT: '9321', MCP_HOST: '0.0.0.0' },
            network,
            published: [{ port, serverPort: 9321 }],
          });
        }

        test.each(['rules', 'open'])('leads from this machine to the server: %s', async (kind) => {
          const port = await testPort();
          const instance = await listeningServer(networks[kind]?.() ?? { kind: 'none' }, port);

          const address = { kind: 'tcp', host: '127.0.0.1', port } as const;
          const status = await waitFor(() => statusOf({ address }, '/nothing'));
          await instance.stop(0);

          expect(status).toBe(404);
          expect(await statusOf({ address }, '/nothing')).toBeUndefined();
        });

        test('leads to a server that speaks HTTP, beside the way of the proxy', async () => {
          const port = await testPort();
          const published = [{ port, serverPort: 18_082 }];
          const instance = await start({ args: ['http'], ...http(18_082), published });

          const statuses = await Promise.all([
            waitFor(() => statusOf(instance, '/nothing')),
            waitFor(() => statusOf({ address: { kind: 'tcp', host: '127.0.0.1', port } }, '/nothing')),
          ]);

          expect(statuses).toEqual([404, 404]);
        });

        test('that another program has is refused by its number, and nothing is left', async () => {
          await using other = await listening();
          const { port } = other;

          const starting = listeningServer({ kind: 'open' }, port);

          await expect(starting).rejects.toThrow(new RegExp(String.raw`\b${port}\b`));
        });
      });

      test('ends a server that uses too much memory, and says so', async () => {
        const server = await talk({ limits: { ...testLimits, memoryBytes: 192 * MEBIBYTE } });

        server.send('allocate', { mebibytes: 600 });
        const exit = await server.instance.exited;

        expect(describeExit(exit)).toBe('used more than 192 MiB of memory; allow more with --memory');
      });

      test('keeps a server from starting processes without end', async () => {
        const server = await talk({ limits: { ...testLimits, processes: 32 } });

        const attempt = server.call('processes', { count: 100 });
        const outcome = await Promise.race([
          attempt.then(({ text }) => Number(text)),
          server.instance.exited,
        ]);

        expect(typeof outcome === 'number' ? outcome : 0).toBeLessThan(64);
      });

      test('keeps a server from opening more files than it may', async () => {
        const server = await talk({ limits: { ...testLimits, openFiles: 128 } });

        const { text } = await server.call('open-files', { count: 200 });

        expect(JSON.parse(text)).toMatchObject({
          code: 'EMFILE',
          opened: expect.toSatisfy((opened: number) => opened < 128),
        });
      });

      test('keeps a server from writing more temporary files than it may', async () => {
        const server = await talk({ limits: { ...testLimits, temporaryBytes: 8 * MEBIBYTE } });

        const fits = await server.call('write', { path: '/tmp/small', content: 'x'.repeat(4 * MEBIBYTE) });
        const exceeds = await server.call('write', { path: '/tmp/large', content: 'x'.repeat(6 * MEBIBYTE) });

        expect([fits.failed, exceeds.failed]).toEqual([false, true]);
        expect(exceeds.text).toContain('ENOSPC');
      });

      test('gives a server no more processor time than it may use', async () => {
        const server = await talk({ limits: { ...testLimits, cpus: 0.2 } });

        const { text } = await server.call('burn', { ms: 1_000 });

        // The kernel never gives it more, however busy the machine is; without a limit it would be almost 1.
        expect(Number(text)).toBeLessThan(0.5);
      });
    });
  });
}

/** Everything that a shell could take for something else, and every byte that can follow another in UTF-8. */
const oddValue = `\n\n ' " \\ \\n \\0101 \\c %s $HOME \`id\` * -e\t=,.\u0001\u007f${String.fromCodePoint(
  ...Array.from({ length: 64 }, (_, index) => 0x100 + index),
  0x1f680,
)}\r\n\n`;

/** The command lines of all processes that this machine shows. */
async function commandLines(): Promise<string[]> {
  const pids = await readdir('/proc').catch(() => []); // only Linux has it
  const lines = pids.filter((entry) => /^\d+$/.test(entry));
  return Promise.all(lines.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
}

function http(targetPort: number): Partial<Launch> {
  return {
    transport: { kind: 'http', targetPort },
    env: { MCP_PORT: String(targetPort) },
    network: { kind: 'open' },
  };
}

/** A listener on every address of this machine, for servers that should not reach it. */
async function listening(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return { port, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

async function statusOf({ address }: Pick<Instance, 'address'>, path: string): Promise<number | undefined> {
  if (address === undefined) throw new Error('the instance has no address');
  const where =
    address.kind === 'socket' ? { socketPath: address.path } : { host: address.host, port: address.port };
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  const request = get({ ...where, path, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  });
  request.on('error', () => resolve(undefined));
  return promise;
}

/** Asks until there is an answer. Only the time limit of the test ends it otherwise. */
export async function waitFor<Answer>(ask: () => Answer | Promise<Answer>): Promise<NonNullable<Answer>> {
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    await delay(10);
  }
}
