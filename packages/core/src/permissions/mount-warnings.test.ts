import { link, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Risk } from '@toolhive/contract/risk';
import { pinMounts } from '@toolhive/runtime/mount-source';
import { describe, expect, test } from 'vitest';
import { makeHome } from '../testing/test-core.ts';
import { dangersOfMount, mountWarnings, thisUser } from './mount-warnings.ts';
import type { Owner } from './mount-warnings.ts';

const home = '/home/user';
const linux: Owner = { home, env: {}, platform: 'linux', programs: [] };
const macOs: Owner = { home: '/Users/user', env: {}, platform: 'darwin', programs: [] };
const windows: Owner = { home: 'C:\\Users\\user', env: {}, platform: 'win32', programs: [] };

const risksOf = (source: string, readOnly: boolean, owner = linux): Risk[] => [
  ...new Set(dangersOfMount({ source, target: '/data', readOnly }, owner).map(({ risk }) => risk)),
];

test.each([
  ['/', 'every file on this machine'],
  ['/proc', 'the kernel'],
  ['/dev/kvm', 'the kernel'],
  ['/etc', 'system files'],
  ['/var/run', 'socket of a container engine'],
  ['/run/docker.sock', 'socket of a container engine'],
  ['/home/user', 'home directory'],
  ['/home', 'home directory'],
  ['/home/user/.ssh', 'credentials'],
  ['/home/user/.colima/default/docker.sock', 'socket of a container engine'],
  ['/home/other', 'home directory'],
])('a mount of %s gets a warning', (source, text) => {
  const warnings = mountWarnings([{ source, target: '/data', readOnly: true }], linux);

  expect(warnings).toEqual([expect.stringContaining(text)]);
});

describe('a mount that is only read', () => {
  test.each<[string, Risk]>([
    ['~/.ssh/id_rsa', 'mount-credentials'],
    ['~/.aws/credentials', 'mount-credentials'],
    ['~/.config', 'mount-credentials'],
    ['~/.config/gh', 'mount-credentials'],
    ['~/.local', 'mount-credentials'],
    ['~/.local/share/keyrings', 'mount-credentials'],
    ['~/.local/share/keyrings/login.keyring', 'mount-credentials'],
    ['~/.password-store', 'mount-credentials'],
    ['~/.mozilla/firefox/x.default', 'mount-credentials'],
    ['~/.config/google-chrome/Default', 'mount-credentials'],
    ['~/snap', 'mount-credentials'],
    ['~/.git-credentials', 'mount-credentials'],
    ['~/.pypirc', 'mount-credentials'],
    ['~/.bash_history', 'mount-credentials'],
    ['~/.zsh_history', 'mount-credentials'],
    ['~/.local/share/fish/fish_history', 'mount-credentials'],
    ['/home/eve/.ssh', 'mount-credentials'],
    ['/home/eve/.config', 'mount-credentials'],
    ['/var/home/eve/.kube/config', 'mount-credentials'],
    ['/root/.ssh', 'mount-credentials'],
    ['/root', 'mount-home'],
    ['/run/dbus', 'mount-system'],
    ['/run/dbus/system_bus_socket', 'mount-system'],
    ['/run/systemd', 'mount-system'],
    ['/run/user/1000/bus', 'mount-system'],
    ['/var/lib', 'mount-system'],
    ['/var/lib/postgresql', 'mount-system'],
    ['/var/spool/cron', 'mount-system'],
    ['/etc/shadow', 'mount-system'],
    ['/mnt/c/Users/eve/.SSH', 'mount-credentials'],
    ['/home/user/notes/../.ssh/', 'mount-credentials'],
    ['/home/user//.ssh', 'mount-credentials'],
  ])('of %s requires consent', (source, risk) => {
    expect(risksOf(source.replace('~', home), true)).toEqual([risk]);
  });

  test.each([
    '/usr',
    '/usr/share/doc',
    '/opt',
    '~/.bashrc',
    '~/.gitconfig',
    '~/.config/systemd',
    '~/.local/bin',
    '~/bin',
  ])('of %s requires none', (source) => {
    expect(risksOf(source.replace('~', home), true)).toEqual([]);
  });
});

describe('a mount that is written', () => {
  test.each([
    '~/.bashrc',
    '~/.profile',
    '~/.zshenv',
    '~/.gitconfig',
    '~/.config/systemd',
    '~/.config/systemd/user/evil.service',
    '~/.config/autostart',
    '~/.local/bin',
    '~/.local/bin/tool',
    '~/bin',
    '~/.cursor/mcp.json',
    '~/.vscode',
    '/home/eve/.bashrc',
    '/root/.profile',
    '/usr',
    '/usr/local/bin',
    '/bin',
    '/opt',
  ])('of %s requires consent, because its files run outside the sandbox', (source) => {
    expect(risksOf(source.replace('~', home), false)).toEqual(['mount-programs']);
  });

  test('of a directory with credentials and programs requires consent to both', () => {
    expect(risksOf('/home/user/.config', false)).toEqual(['mount-credentials', 'mount-programs']);
  });
});

describe('a directory of PATH', () => {
  const developer: Owner = { ...linux, env: { PATH: '/usr/bin:/srv/app/.venv/bin:/home/user::bin' } };

  test.each(['/srv/app', '/srv/app/.venv/bin', '/srv/app/.venv/bin/python3'])(
    'requires consent if %s is written',
    (source) => {
      expect(risksOf(source, false, developer)).toEqual(['mount-programs']);
      expect(risksOf(source, true, developer)).toEqual([]);
      expect(risksOf(source, false)).toEqual([]);
    },
  );

  test.each(['/srv/app/src', '/srv/other', '/home/user/notes'])('requires none for %s', (source) => {
    expect(risksOf(source, false, developer)).toEqual([]);
  });

  test.each(['UV_PYTHON_INSTALL_DIR', 'XDG_BIN_HOME', 'MISE_DATA_DIR', 'PROTO_HOME'])(
    'counts like the directory in %s, from which the daemon runs programs, too',
    (variable) => {
      const owner = { ...linux, env: { [variable]: '/srv/tools' } };

      expect(risksOf('/srv/tools', false, owner)).toEqual(['mount-programs']);
    },
  );

  test('counts on Windows', () => {
    const env = { PATH: 'C:\\Windows;D:\\app\\.venv\\Scripts' };

    expect(risksOf('D:\\app', false, { ...windows, env })).toEqual(['mount-programs']);
  });
});

test('ToolHive itself is not written without consent', () => {
  const { programs } = thisUser();

  for (const program of [process.execPath, process.argv[1] ?? ''])
    expect(risksOf(program, false, { ...linux, programs })).toEqual(['mount-programs']);
});

test.each([
  '/home/user/notes',
  '/home/user/projects/x',
  '/home/user/projects/x/.vscode',
  '/home/user/projects/.ssh-notes',
  '/home/user/.sshd',
  '/home/user/.config/my-server',
  '/home/user/.local/share/my-server',
  '/home/user/.cache/my-server',
  '/home/user/Documents',
  '/home/other/notes',
  '/root/notes',
  '/tmp',
  '/tmp/x',
  '/srv/data',
  '/data',
  '/opt/data',
  '/mnt/data',
  '/mnt/c/Users/eve/notes',
  '/media/user/disk',
  '/run/media/user/disk',
  '/var/www',
  '/var/tmp/x',
])('a mount of %s requires no consent, even if it is written', (source) => {
  expect(risksOf(source, false)).toEqual([]);
});

describe('on other systems', () => {
  test.each<[string, Owner, string, Risk[]]>([
    ['macOS', macOs, '/Users/user/.SSH/id_rsa', ['mount-credentials']],
    ['macOS', macOs, '/users/USER/library/keychains', ['mount-credentials']],
    ['macOS', macOs, '/Users/eve/Library/LaunchAgents', ['mount-programs']],
    ['macOS', macOs, '/Users/user/Library', ['mount-credentials', 'mount-programs']],
    ['macOS', macOs, '/private/etc', ['mount-system']],
    ['macOS', macOs, '/Users/user/Documents', []],
    ['Windows', windows, 'c:\\users\\USER\\.ssh', ['mount-credentials']],
    ['Windows', windows, '\\\\?\\C:\\Users\\user\\.aws\\credentials', ['mount-credentials']],
    ['Windows', windows, 'C:/Users/eve/AppData/Roaming', ['mount-credentials', 'mount-programs']],
    ['Windows', windows, 'D:\\', ['mount-root']],
    ['Windows', windows, 'C:\\Users', ['mount-home']],
    ['Windows', windows, 'C:\\Users\\user\\notes', []],
  ])('such as %s, %#: the same holds for the paths of the system', (_system, owner, source, risks) => {
    expect(risksOf(source, false, owner)).toEqual(risks);
  });

  test('letter case counts on Linux', () => {
    expect(risksOf('/home/user/.SSH', true)).toEqual([]);
  });
});

describe('a place that was moved', () => {
  const env = {
    XDG_CONFIG_HOME: '/data/config',
    XDG_DATA_HOME: '/data/share/',
    KUBECONFIG: '/srv/kube/one:/srv/kube/two',
    CODEX_HOME: '/srv/codex',
    SSH_AUTH_SOCK: '/tmp/ssh-1/agent.1',
    DOCKER_HOST: 'unix:///srv/engine/docker.sock',
    DBUS_SESSION_BUS_ADDRESS: 'unix:path=/srv/bus/socket,guid=1',
    ZDOTDIR: '/home/user',
  };
  test.each<[string, Risk[]]>([
    ['/data/config/gh', ['mount-credentials']],
    ['/data/share/keyrings', ['mount-credentials']],
    ['/srv/kube/two', ['mount-credentials']],
    ['/srv/codex/auth.json', ['mount-credentials']],
    ['/tmp/ssh-1', ['mount-credentials']],
    ['/srv/engine', ['mount-engine-socket']],
    ['/srv/bus', ['mount-system']],
    ['/home/user/.config/gh', ['mount-credentials']],
    ['/home/user/notes', []],
    ['/tmp/x', []],
  ])('is found by the variables of the user: %s', (source, risks) => {
    expect(risksOf(source, false, { ...linux, env })).toEqual(risks);
  });

  test('is found through links, from either side, and as a second name of the same file', async () => {
    await using user = await makeHome();
    const owner = { ...linux, home: user.path };
    const [dotfiles, project] = [join(user.path, 'dotfiles'), join(user.path, 'project')];
    await mkdir(join(dotfiles, 'keys'), { recursive: true });
    await mkdir(project);
    await writeFile(join(user.path, '.netrc'), 'password');
    await symlink(join(dotfiles, 'keys'), join(user.path, '.ssh'));
    await symlink(join(user.path, '.ssh'), join(project, 'link'));
    await link(join(user.path, '.netrc'), join(project, 'notes'));
    const sources = ['dotfiles', 'dotfiles/keys', 'project/link', 'project/notes', 'project'];

    const pinned = await pinMounts(
      sources.map((source) => ({ source: join(user.path, source), target: '/data', readOnly: true })),
    );

    const risks = pinned.map((mount) => dangersOfMount(mount, owner).map(({ risk }) => risk)[0]);
    const credentials = 'mount-credentials';
    expect(risks).toEqual([credentials, credentials, credentials, credentials, undefined]);
  });
});
