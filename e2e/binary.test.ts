// @suite e2e (in depth)
import { existsSync } from 'node:fs';
import { mkdir, mkdtempDisposable, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRemoteServer } from '@toolhive/remote/testing/remote-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildBinary } from '../scripts/build-binary.ts';
import { isInstalled, keyringPrograms } from '@toolhive/testing/machine';
import { proves } from '@toolhive/testing/promises';
import { apiClient } from '@toolhive/api/testing/api-client';
import { connectTo } from './testing/mcp.ts';
import { isListening, makeUser, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { webUiOf } from './testing/web-ui.ts';

const resources = new AsyncDisposableStack();
let thv: string;
let user: User;

beforeAll(async () => {
  const folder = resources.use(await mkdtempDisposable(join(tmpdir(), 'thv-binary-')));
  thv = join(folder.path, 'thv');
  await buildBinary(thv);
  const path = join(folder.path, 'bin');
  await mkdir(path);
  if (isInstalled('bwrap')) await symlink(findProgram('bwrap'), join(path, 'bwrap'));
  user = resources.use(
    await makeUser({ env: { PATH: path, OP_SERVICE_ACCOUNT_TOKEN: 'no token' }, program: [thv] }),
  );
});
afterAll(() => resources.disposeAsync());

describe('the single executable', () => {
  test('says its version and helps, without any Node.js', async () => {
    proves('distribution.executable');

    expect(await user.mustThv('version')).toContain('ToolHive v');
    expect(await user.mustThv('--help')).toContain('Usage:');
  });

  test('has the licenses of what is in it beside itself', async () => {
    const licenses = await readFile(`${thv}-licenses.txt`, 'utf8');

    expect(licenses).toContain(`Node.js ${process.version}`);
    expect(licenses).toContain('--- zod ');
    expect(licenses).toContain('--- @1password/sdk-core ');
  });

  test('starts a daemon in the background, which puts a proxy in front of a remote server', async () => {
    await using remote = await openRemoteServer('modern');

    const ran = await user.mustThv('run', '--name', 'far', remote.url);
    const tools = await toolsAt(/far runs at (http:\S+)/.exec(ran)?.[1] ?? '');
    const listed = await user.mustThv('list');
    await user.mustThv('rm', '--yes', 'far');

    expect(tools).toContain('test_simple_text');
    expect(listed).toContain('far');
  });

  test('serves the web UI', async () => {
    expect(await webUiOf(user)).toEqual([200, 200]);
  });

  test('knows the servers of the registry', async () => {
    expect(await user.mustThv('registry', 'list')).toMatch(/^fetch /m);
  });

  test('leaves to thv what Node.js knows as a flag', async () => {
    const { stderr } = await user.thv('run', '--env-file', '/nowhere/at/all', testServer);

    expect(stderr).toContain('Error: invalid --env-file: cannot read /nowhere/at/all: file not found');
  });

  test.skipIf(!isInstalled('bwrap'))('says that servers from npm need npm', async () => {
    const { code, stderr } = await user.thv('run', 'npx://never-installed@1.0.0');

    expect(code).not.toBe(0);
    expect(stderr).toContain('Error: npm is not installed\nHint: install Node.js');
  });

  test('has the engine for policies in it', async () => {
    const file = join(user.home, 'policies.json');
    const policies = ['permit(principal, action == Action::"call", resource);'];
    await writeFile(file, JSON.stringify({ version: '1.0', type: 'cedarv1', cedar: { policies } }));

    const { stderr } = await user.thv('run', '--authz-config', file, 'https://mcp.example.com/mcp');

    expect(stderr).toContain('policy0, line 1, column 29: unrecognized action `Action::"call"`');
  });

  test('has the client of 1Password in it', async () => {
    const { stderr } = await user.thv('secret', 'provider', '1password');

    expect(stderr).toContain('OP_SERVICE_ACCOUNT_TOKEN does not contain a valid token');
  });

  test.skipIf(!keyringPrograms.every(({ program }) => isInstalled(program)))(
    'keeps the key of the secrets in the keyring of a desktop',
    async () => {
      const unlock = `printf 'login password' | gnome-keyring-daemon --unlock --components=secrets >/dev/null`;
      const session = ['--', 'sh', '-c', `${unlock}; exec ${thv} "$@"`, 'thv'];
      await using owner = await makeUser({ program: ['dbus-run-session', ...session] });
      const runtime = join(owner.home, 'run');
      await mkdir(runtime, { mode: 0o700 });
      owner.env['XDG_RUNTIME_DIR'] = runtime;
      const { ended } = owner.start('serve', '--port', '0');
      await until(() => isListening(socketOf(owner)));
      const daemon = apiClient({ socketPath: socketOf(owner) });

      await daemon.setupSecrets({ body: { provider_type: 'encrypted' } });
      const kept = await readFile(join(owner.home, '.local/share/toolhive/secrets_encrypted'), 'latin1');
      const native = join(owner.home, '.cache/toolhive/native');
      const [library = ''] = await readdir(native);
      const modes = await Promise.all([native, join(native, library)].map((path) => stat(path)));
      await daemon.stopDaemon({});
      await ended;

      expect(kept).toContain('"by":"keyring"');
      expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o700]);
    },
  );
});

function findProgram(name: string): string {
  return (
    (process.env['PATH'] ?? '')
      .split(':')
      .map((folder) => join(folder, name))
      .find(existsSync) ?? name
  );
}

function socketOf({ home }: User): string {
  return join(home, '.local/state/toolhive/hive.sock');
}

async function toolsAt(url: string): Promise<string[]> {
  await using client = await connectTo(url);
  return await client.tools(); // before the client is closed
}
