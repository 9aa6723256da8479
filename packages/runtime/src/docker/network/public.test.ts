// @suite engines
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import type { Instance, Launch, Runtime } from '../../runtime.ts';
import { aLaunch, waitFor } from '../../testing/conformance.ts';
import { TEST_IMAGE } from '../../testing/docker-engine.ts';
import { engineSocket } from '../../testing/engines.ts';
import { canMakeNetworks } from '../../testing/stand-in-hosts.ts';
import { Conversation } from '../../testing/talk.ts';
import { type WebHosts, openWebHosts } from '../../testing/web-hosts.ts';
import { openDockerRuntime } from '../docker.ts';

// Containers with `insecure_allow_all` reach every public host, and nothing else (decision 41).

const never = new AbortController().signal;
const source = { kind: 'image', image: TEST_IMAGE } as const;
const open = { kind: 'open' } as const;
const folder = await mkdtempDisposable(join(tmpdir(), 'thv-public-'));
afterAll(() => folder.remove());
const run = promisify(execFile);

const sockets = { docker: await engineSocket('docker'), podman: await engineSocket('podman') };
const engines = (['docker', 'podman'] as const).filter((name) => sockets[name] !== '');

describe.each(canMakeNetworks ? engines : [])('a container that reaches only public hosts in %s', (name) => {
  const socket = sockets[name];
  let hosts: WebHosts;
  let runtime: Runtime;
  beforeAll(async () => {
    hosts = await openWebHosts(1);
    runtime = runtimeOf(process.env);
  });
  afterAll(async () => {
    await runtime.sweep();
    await hosts[Symbol.asyncDispose]();
  });

  const runtimeOf = (env: NodeJS.ProcessEnv): Runtime =>
    openDockerRuntime({
      daemonId: `public-${process.pid}-${name}-${env === process.env ? 'with' : 'without'}`,
      env,
      tempDir: folder.path,
      recordsDir: folder.path,
      socket,
    });

  async function talk(changes: Partial<Launch>, using = runtime) {
    const instance = await using.start(aLaunch(source, { workload: 'public', ...changes }), never);
    const { stdio } = instance;
    if (stdio === undefined) throw new Error('it speaks stdio');
    const conversation = new Conversation(stdio);
    const dial = (host: string, port: number) => conversation.call('dial', { host, port, ms: 2_000 });
    return { instance, dial, [Symbol.asyncDispose]: () => instance[Symbol.asyncDispose]() };
  }

  test('reaches public hosts, and neither private addresses nor this machine', async () => {
    proves('security.network.public-only');
    const [far = ''] = hosts.far;
    const [neighbor = ''] = hosts.private;
    const service = createServer((connection) => connection.destroy()).listen(0, '0.0.0.0');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo; // it listens on a port
    let visits = 0;
    service.on('connection', () => (visits += 1));
    const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
    const here = own.filter(({ family }) => family === 'IPv4').map(({ address }) => address);
    await using server = await talk({ network: open });

    const reached = await server.dial(far, 80);
    const refused = [];
    for (const address of [...here, hosts.near, '10.0.2.2', '10.0.2.3'])
      refused.push((await server.dial(address, port)).failed);
    for (const address of [neighbor, '169.254.169.254', '10.0.0.1', '192.168.0.1', '100.64.0.1'])
      refused.push((await server.dial(address, 80)).failed);
    service.close();

    expect(reached.failed).toBe(false);
    expect(refused).toEqual(refused.map(() => true));
    expect(visits).toBe(0);
  });

  test('leaves the mounts of this machine as they are', async () => {
    const mounts = (): Promise<string> => readFile('/proc/self/mountinfo', 'utf8');
    const named = `/netns/${hosts.namespace} `;
    expect(await mounts()).toContain(named);
    {
      await using _server = await talk({ network: open });
    }

    expect(await mounts()).toContain(named);
  });

  test('reaches the private addresses that are granted', async () => {
    const [neighbor = ''] = hosts.private;
    await using server = await talk({ network: { ...open, privateAddresses: [`${neighbor}/32`] } });

    expect(await server.dial(neighbor, 80)).toMatchObject({ failed: false });
  });

  test('is reached if it speaks HTTP, and ends when its network does', async () => {
    const launch = {
      args: ['http'],
      env: { MCP_PORT: '8080', MCP_HOST: '127.0.0.1' },
      transport: { kind: 'http', targetPort: 8080 },
      network: open,
    } as const;
    await using instance = await runtime.start(aLaunch(source, { workload: 'public', ...launch }), never);
    await waitFor(async () => (await statusOf(instance)) !== undefined);
    const { stdout } = await run('pgrep', ['-P', String(process.pid), '-f', 'slirp4netns']);

    process.kill(Number(stdout), 'SIGKILL');

    expect(await instance.exited).toMatchObject({ signal: 'SIGKILL' });
  });

  test('reaches private addresses without slirp4netns, which the status says', async () => {
    const without = runtimeOf({ PATH: '/nowhere' });

    const { limits } = await without.check();
    const restricted = await runtime.check();
    await using server = await talk({ network: open, workload: 'unrestricted' }, without);

    expect(limits.map(({ text }) => text)).toContainEqual(
      expect.stringContaining('reaches private addresses and this machine: slirp4netns is not installed'),
    );
    expect(restricted.limits.map(({ concerns }) => concerns)).not.toContain('servers with public hosts only');
    expect(await server.dial('127.0.0.1', 9)).toMatchObject({ failed: true });
    await without.sweep();
  });
});

/** The status of an answer of a server. Undefined if it does not answer. */
async function statusOf({ address }: Instance): Promise<number | undefined> {
  if (address?.kind !== 'socket') throw new Error('it has a socket');
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  request({ socketPath: address.path, path: '/mcp', agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  })
    .on('error', () => resolve(undefined))
    .end();
  return promise;
}
