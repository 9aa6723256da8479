import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { TEST_IMAGE, buildFromScratch } from '@toolhive/runtime/testing/docker-engine';
import { engineSocket, sharedOut } from '@toolhive/runtime/testing/engines';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { connectTo, officialClients } from './testing/mcp.ts';
import { isListening, makeUser, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';

const execute = promisify(execFile);

/** The same server that the sandbox runs from its package, as an image. Its tag keeps the engine from asking a registry. */
const filesystemImage = 'mcp/filesystem:2026.8.31';

/** Installed once for all engines. */
let installed: string | undefined;
let serverFiles: Map<string, string>;
beforeAll(async () => {
  serverFiles = await installFilesystemServer();
});
afterAll(async () => {
  if (installed !== undefined) await rm(installed, { recursive: true, force: true });
});

describe.each(sharedOut(['docker', 'podman'] as const))('%s', async (engine) => {
  const socket = await engineSocket(engine);
  describe.runIf(socket !== '')('runs the main job', () => {
    mainJob(engine, socket);
  });
});

function mainJob(engine: string, socket: string): void {
  let user: User;
  let folder: string;

  beforeAll(async () => {
    // The image with the test servers has Node.js already.
    const dockerfile = [
      `FROM ${TEST_IMAGE}`,
      'COPY files/ /',
      'ENTRYPOINT ["/bin/node", "/app/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"]',
    ];
    await buildFromScratch(socket, filesystemImage, dockerfile.join('\n'), serverFiles);
    const variable = engine === 'docker' ? 'TOOLHIVE_DOCKER_SOCKET' : 'TOOLHIVE_PODMAN_SOCKET';
    user = await makeUser({ env: { TOOLHIVE_RUNTIME: '', [variable]: socket } });
    folder = join(user.home, 'notes');
    await mkdir(folder);
    await writeFile(join(folder, 'hello.txt'), 'a note');
  });
  afterAll(() => user?.[Symbol.asyncDispose]());

  test('in the running engine', async () => {
    proves('cli.runtime-check', 'api.health');
    const text = await user.mustThv('runtime', 'check');

    expect(text).toMatch(/^docker: available, used for new workloads$/m);
    expect(text).toMatch(new RegExp(engine, 'i'));
  });

  test('with a server that reads a shared folder, and nothing else', async () => {
    proves('run.docker', 'run.sandbox.files', 'run.mounts');
    const stdout = await user.mustThv(
      'run',
      filesystemImage,
      '--name',
      'files',
      '--volume',
      `${folder}:/projects:ro`,
      '--',
      '/projects',
      '/',
    );
    await using client = await officialClients['current SDK, streamable HTTP']!(urlIn(stdout)); // one of its own keys

    const read = await client.call('read_text_file', { path: '/projects/hello.txt' });
    const write = await client.call('write_file', { path: '/projects/new.txt', content: '' });
    const outside = await client.call('read_text_file', { path: join(folder, 'hello.txt') });

    expect(read.text).toBe('a note');
    expect(write).toMatchObject({ failed: true, text: expect.stringMatching(/EROFS|EACCES/) });
    expect(outside).toMatchObject({ failed: true });
  });

  test('with a program that runs once with other arguments, and then with the server again', async () => {
    const failed = await user.thv('exec', 'files', '--', '/projects/missing');
    await user.mustThv('start', 'files');
    await using client = await connectTo(urlIn(await user.mustThv('list')));

    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('/projects/missing');
    expect((await client.call('read_text_file', { path: '/projects/hello.txt' })).text).toBe('a note');
  });

  test('hardened, labelled, and reached only through the daemon', async () => {
    proves('security.container.hardened');
    await user.mustThv(
      'run',
      TEST_IMAGE,
      '--name',
      'web',
      '--transport',
      'streamable-http',
      '--target-port',
      '8080',
      '--',
      'http',
    );

    const [container] = (await ask(
      socket,
      `/containers/json?filters=${encodeURIComponent('{"name":["web"]}')}`,
    )) as { Id: string }[];
    const { HostConfig, Config } = (await ask(socket, `/containers/${container?.Id}/json`)) as Inspected;

    expect(HostConfig).toMatchObject({
      ReadonlyRootfs: true,
      Privileged: false,
      NetworkMode: expect.stringMatching(/^container:/),
    });
    expect(HostConfig.PortBindings ?? {}).toEqual({});
    expect(HostConfig.PidsLimit).toBeGreaterThan(0);
    expect(HostConfig.Memory).toBeGreaterThan(0);
    expect(HostConfig.SecurityOpt.join()).toContain('no-new-privileges');
    expect(Config.Labels).toMatchObject({
      toolhive: 'true',
      'toolhive-basename': 'web',
      'toolhive-tool-type': 'mcp',
    });
  });

  test('with every host in reach only if isolation is turned off, as the status says', async () => {
    const flags = ['--name', 'open', '--isolate-network=false', '--', 'echo'];
    const { code, stderr } = await user.thv('run', TEST_IMAGE, ...flags);
    const [id] = await containersOf(socket, 'open');

    const { HostConfig } = (await ask(socket, `/containers/${id}/json`)) as Inspected;

    expect(code).toBe(0);
    expect(stderr).toContain(
      'WARNING: the server reaches every host, because network isolation is turned off',
    );
    expect(HostConfig.NetworkMode).toMatch(/^(toolhive-external-.*|bridge)$/);
  });

  test('through a stop, a restart and a removal that leave nothing', async () => {
    proves('cli.life-cycle');
    const url = urlIn(
      await user.mustThv(
        'run',
        TEST_IMAGE,
        '--name',
        'cycle',
        '--proxy-mode',
        'streamable-http',
        '--',
        'chatty',
      ),
    );

    await user.mustThv('stop', 'cycle');
    const whileStopped = await containersOf(socket, 'cycle');
    await user.mustThv('restart', 'cycle');
    const logs = await user.mustThv('logs', 'cycle');
    await user.mustThv('rm', 'cycle');

    expect(whileStopped).toEqual([]);
    expect(logs).toContain('line 5000 of a long story');
    expect(await containersOf(socket, 'cycle')).toEqual([]);
    expect(await isListening(Number(new URL(url).port))).toBe(false);
  });

  test('again after its container was removed by another program', async () => {
    proves('state.server-killed');
    const url = urlIn(
      await user.mustThv(
        'run',
        TEST_IMAGE,
        '--name',
        'victim',
        '--sessions',
        'shared',
        '--proxy-mode',
        'streamable-http',
        '--',
        'echo',
      ),
    );
    await using client = await connectTo(url);
    const before = await client.call('instance');
    const [id] = await containersOf(socket, 'victim');

    await ask(socket, `/containers/${id}?force=1`, 'DELETE');
    await until(async () => (await containersOf(socket, 'victim')).some((other) => other !== id));

    expect((await client.call('instance')).text).not.toBe(before.text);
  });

  test('with one container while a client has one, and again with the first one afterwards', async () => {
    const url = urlIn(await user.mustThv('run', TEST_IMAGE, '--name', 'resting', '--', 'echo'));
    const [first] = await containersOf(socket, 'resting');
    const client = await connectTo(url);
    const { text: own } = await client.call('instance');

    await until(async () => !(await containersOf(socket, 'resting')).includes(first ?? ''));
    expect(await containersOf(socket, 'resting')).toHaveLength(1);
    expect((await client.call('instance')).text).toBe(own);

    await client[Symbol.asyncDispose]();
    await until(async () => (await containersOf(socket, 'resting')).length === 1);
    await using next = await connectTo(url);
    expect((await next.call('instance')).text).not.toBe(own);
  });

  test('again after the daemon was killed, with one container for each server', async () => {
    proves('state.daemon-killed');
    await user.thv('rm', '--yes', 'survivor'); // of an attempt that failed
    const url = urlIn(
      await user.mustThv(
        'run',
        TEST_IMAGE,
        '--name',
        'survivor',
        '--proxy-mode',
        'streamable-http',
        '--',
        'echo',
      ),
    );
    const [id] = await containersOf(socket, 'survivor');

    await user.killDaemon();
    await until(async () => (await user.thv('list')).code === 0);
    await until(async () =>
      (await user.api('GET', '/api/v1beta/workloads/survivor/status')).text.includes('running'),
    );
    const now = await containersOf(socket, 'survivor'); // a client gets one of its own
    await using client = await connectTo(url);

    expect((await client.call('echo', { message: 'alive' })).text).toBe('alive');
    expect(now).toHaveLength(1);
    expect(now).not.toContain(id);
  });

  test('not, with a clear error, for an image that does not exist', async () => {
    proves('bad.unknown-source');
    const { code, stderr } = await user.thv('run', '127.0.0.1:1/no/such-image:1', '--name', 'ghost');

    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^Error: .*127\.0\.0\.1:1\/no\/such-image:1/m);
    expect(await user.mustThv('list', '--all', '--format', 'json')).not.toContain('ghost');
  });
}

interface Inspected {
  HostConfig: {
    PidsLimit: number;
    Memory: number;
    SecurityOpt: string[];
    NetworkMode: string;
    PortBindings?: object | null;
  };
  Config: { Labels: Record<string, string> };
}

function urlIn(stdout: string): string {
  return /http:\S+/.exec(stdout)?.[0] ?? '';
}

async function containersOf(socket: string, workload: string): Promise<string[]> {
  const filters = JSON.stringify({ label: [`toolhive-basename=${workload}`] });
  const found = (await ask(socket, `/containers/json?all=1&filters=${encodeURIComponent(filters)}`)) as {
    Id: string;
  }[];
  return found.map(({ Id }) => Id);
}

/** Asks the engine itself, beside ToolHive. */
async function ask(socketPath: string, path: string, method = 'GET'): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const asking = request({ socketPath, path, method, agent: false }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => (text += chunk));
    response.on('end', () => resolve(text === '' ? undefined : JSON.parse(text)));
  });
  asking.on('error', reject);
  asking.end();
  return promise;
}

/** The modules of the server, as npm installs them. */
async function installFilesystemServer(): Promise<Map<string, string>> {
  installed = await mkdtemp(join(tmpdir(), 'thv-image-'));
  const npm = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', installed];
  await execute('npm', [...npm, '--prefer-offline', '@modelcontextprotocol/server-filesystem@2026.8.31']);
  const files = new Map<string, string>();
  for (const entry of await readdir(join(installed, 'node_modules'), {
    recursive: true,
    withFileTypes: true,
  })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && /\.([cm]?js|json)$/.test(entry.name))
      files.set(`app/${relative(installed, path)}`, path);
  }
  return files;
}
