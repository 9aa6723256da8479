import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { scan } from './scan.ts';
import type { ScanOptions } from './scan.ts';

let home: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'thv-scan-'));
  await mkdir(join(home, 'gemini-cli'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(home, { recursive: true, force: true });
});

test.each([
  ['excluded', ['off']],
  ['allowed', ['on']],
])('servers that Gemini CLI turns off beside their entries stay with it: %s', async (key, names) => {
  const entry = { command: 'npx', args: ['-y', 'server'] };
  const settings = { mcpServers: { on: entry, off: entry }, mcp: { [key]: names } };
  await writeFile(join(home, 'gemini-cli', 'settings.json'), JSON.stringify(settings));

  const { servers } = await scan({
    clients: ['gemini-cli'],
    home,
    env: {},
    userFiles: (client) => [join(home, client, 'settings.json')],
    isOwn: () => false,
  });

  const problems = servers.flatMap(({ entries, failure }) =>
    entries.map(({ name }) => [name, failure?.message]),
  );
  expect(problems).toEqual([
    ['on', undefined],
    ['off', 'it is disabled'],
  ]);
});

test('a file of variables that cannot be read only concerns its server', async () => {
  const at = (name: string): string => join(home, name);
  execFileSync('mkfifo', [at('pipe')]);
  await symlink('/dev/zero', at('endless'));
  const entry = { command: 'npx', args: ['-y', 'server'] };
  const reading = (name: string) => ({ ...entry, envFile: at(name) });
  const settings = {
    mcpServers: { none: reading('none'), pipe: reading('pipe'), endless: reading('endless'), other: entry },
  };
  await writeFile(join(home, 'gemini-cli', 'settings.json'), JSON.stringify(settings));

  const { servers } = await scan({
    clients: ['gemini-cli'],
    home,
    env: {},
    userFiles: (client) => [join(home, client, 'settings.json')],
    isOwn: () => false,
  });

  const problems = servers.flatMap(({ entries, failure }) =>
    entries.map(({ name }) => [name, failure?.message]),
  );
  expect(problems).toEqual([
    ['none', expect.stringContaining(`${at('none')} cannot be read`)],
    ['pipe', `${at('pipe')} is not a file`],
    ['endless', `${at('endless')} is not a file`],
    ['other', undefined],
  ]);
});

test('servers that Claude Code turns off in a project stay with it there', async () => {
  const entry = { command: 'npx', args: ['-y', 'server'] };
  const project = { mcpServers: { on: entry, off: entry }, disabledMcpServers: ['off'] };
  const settings = { mcpServers: { off: { ...entry, env: { A: 'b' } } }, projects: { [home]: project } };
  await writeFile(join(home, 'claude.json'), JSON.stringify(settings));

  const { servers } = await scan({
    clients: ['claude-code'],
    home,
    env: {},
    userFiles: (client) => (client === 'claude-code' ? [join(home, 'claude.json')] : []),
    isOwn: () => false,
  });

  const problems = servers.flatMap(({ entries, failure }) =>
    entries.map(({ name, place }) => [place.scope, name, failure?.message]),
  );
  expect(problems).toEqual([
    ['user', 'off', undefined],
    ['project', 'on', undefined],
    ['project', 'off', 'it is disabled'],
  ]);
});

describe('an installed program that an entry names without a path', () => {
  const image = 'npx://@scope/files@1.2.3';

  /** Installs a program, as `npm install --global` does, and returns the directory with it. */
  async function install(prefix: string): Promise<string> {
    const place = join(prefix, 'lib/node_modules/@scope/files');
    const script = join(place, 'index.js');
    await mkdir(place, { recursive: true });
    await mkdir(join(prefix, 'bin'), { recursive: true });
    const manifest = { name: '@scope/files', version: '1.2.3', bin: { 'files-mcp': 'index.js' } };
    await writeFile(join(place, 'package.json'), JSON.stringify(manifest));
    await writeFile(script, '#!/usr/bin/env node\n');
    await chmod(script, 0o755);
    await symlink(script, join(prefix, 'bin/files-mcp'));
    return join(prefix, 'bin');
  }

  async function imageOf(
    options: Pick<ScanOptions, 'env' | 'search_path'>,
    { isShared = false, own = {} } = {},
  ): Promise<string | undefined> {
    const folder = join(home, isShared ? 'project/.gemini' : 'gemini-cli');
    await mkdir(folder, { recursive: true });
    const files = { command: 'files-mcp', env: own };
    await writeFile(join(folder, 'settings.json'), JSON.stringify({ mcpServers: { files } }));
    const { servers } = await scan({
      ...options,
      clients: ['gemini-cli'],
      projects: [join(home, 'project')],
      home,
      userFiles: (client) => [join(home, client, 'settings.json')],
      isOwn: () => false,
    });
    return servers[0]?.request?.image;
  }

  test('is looked for in the caller’s PATH, not only in the daemon’s', async () => {
    const bin = await install(join(home, 'prefix'));
    expect(await imageOf({ env: { PATH: '/usr/bin' } })).toBeUndefined();
    expect(await imageOf({ env: { PATH: '/usr/bin' }, search_path: `/bin:${bin}` })).toBe(image);
    expect(await imageOf({ env: { PATH: bin }, search_path: '/bin' })).toBe(image);
  });

  test('is looked for in its entry’s PATH', async () => {
    const bin = await install(join(home, 'prefix'));
    expect(await imageOf({ env: {} }, { own: { PATH: `/usr/bin:${bin}` } })).toBe(image);
  });

  test.each(['.npm-global', '.nvm/versions/node/v24.1.0'])(
    'is looked for in ~/%s, without any PATH',
    async (prefix) => {
      vi.stubEnv('HOME', home);
      await install(join(home, prefix));
      expect(await imageOf({ env: {} })).toBe(image);
    },
  );

  test('is not looked for if the entry belongs to a project, which others can have written', async () => {
    const bin = await install(join(home, 'prefix'));
    expect(await imageOf({ env: { PATH: bin }, search_path: bin }, { isShared: true })).toBeUndefined();
  });
});

test('a note names each file that the server would create, or could not replace', async () => {
  for (const folder of ['notes', 'other', 'app/.git']) await mkdir(join(home, folder), { recursive: true });
  const [known, created] = [join(home, 'notes/known.db'), join(home, 'other/new.json')];
  const alone = join(home, 'app/alone.db');
  for (const path of [known, alone]) await writeFile(path, '');
  const files = {
    command: 'npx',
    args: ['-y', 'server', `--db=${known}`, '--more', alone],
    env: { STORE: created, MODE: '/none' },
  };
  await writeFile(join(home, 'gemini-cli/settings.json'), JSON.stringify({ mcpServers: { files } }));

  const { servers } = await scan({
    clients: ['gemini-cli'],
    home,
    env: {},
    userFiles: (client) => [join(home, client, 'settings.json')],
    isOwn: () => false,
  });

  expect(servers[0]?.request?.volumes).toEqual([join(home, 'notes'), alone].map((path) => `${path}:${path}`));
  expect(servers[0]?.notes).toEqual([
    `the server cannot create ${created} on this machine, and its changes would be lost. To keep the file there, create it before the adoption`,
    expect.stringContaining(`a server that replaces ${alone} instead of changing it cannot save`),
  ]);
});

describe('a server that names a local service', () => {
  const scanned = async (address: string, localPorts: number[] = []) => {
    const database = { command: 'npx', args: ['-y', 'server', `postgresql://me@${address}/db`] };
    await writeFile(join(home, 'gemini-cli/settings.json'), JSON.stringify({ mcpServers: { database } }));
    const { servers } = await scan({
      clients: ['gemini-cli'],
      home,
      env: {},
      userFiles: (client) => [join(home, client, 'settings.json')],
      isOwn: () => false,
      local_ports: localPorts,
    });
    return servers[0];
  };

  test('stays with its client while the service runs, because it would not work in isolation', async () => {
    await using service = createServer().listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo;

    const found = await scanned(`127.0.0.1:${port}`);

    expect(found?.failure).toMatchObject({
      kind: 'unsupported',
      message: `it uses 127.0.0.1:${port} of this machine, which an isolated server cannot reach`,
      hint: `if the server may use it, repeat the command with --allow-local-port ${port}`,
    });
  });

  test('gets the ports that the user has allowed, if its configuration names them', async () => {
    await using service = createServer().listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo;

    const found = await scanned(`127.0.0.1:${port}`, [port, 22]);

    expect(found?.failure).toBeUndefined();
    expect(found?.request).toMatchObject({ local_ports: [port], accepted_risks: ['local-ports'] });
    expect(found?.notes).toEqual([]);
  });

  test('can move with a note while nothing listens there', async () => {
    await using service = createServer().listen(0, '127.0.0.1');
    await once(service, 'listening');
    const { port } = service.address() as AddressInfo;
    await service[Symbol.asyncDispose]();

    const found = await scanned(`localhost:${port}`);

    expect(found?.failure).toBeUndefined();
    expect(found?.notes.join()).toContain(`the server cannot reach localhost:${port} of this machine`);
  });
});
