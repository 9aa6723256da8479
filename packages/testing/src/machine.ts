import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A system program and its Debian package. */
export interface SystemProgram {
  program: string;
  debian: string;
}

/** The requirements of servers in the sandbox. */
export const sandboxPrograms: SystemProgram[] = [
  { program: 'bwrap', debian: 'bubblewrap' },
  { program: 'slirp4netns', debian: 'slirp4netns' },
  { program: 'ip', debian: 'iproute2' },
  { program: 'inotifywait', debian: 'inotify-tools' },
];

/** The requirements of the container engine tests. */
export const enginePrograms: SystemProgram[] = [
  { program: 'dockerd', debian: 'docker.io' },
  { program: 'podman', debian: 'podman' },
  { program: 'newuidmap', debian: 'uidmap' },
  { program: 'busybox', debian: 'busybox-static' },
];

/** The requirements of the keyring tests. */
export const keyringPrograms: SystemProgram[] = [
  { program: 'gnome-keyring-daemon', debian: 'gnome-keyring' },
  { program: 'dbus-run-session', debian: 'dbus' },
];

/** The requirements of the shell completion tests. */
export const shellPrograms: SystemProgram[] = [
  { program: 'bash', debian: 'bash' },
  { program: 'zsh', debian: 'zsh' },
  { program: 'fish', debian: 'fish' },
];

/** A proxy as companies use it. */
export const proxyPrograms: SystemProgram[] = [{ program: 'tinyproxy', debian: 'tinyproxy-bin' }];

/** A storage for the sessions of several proxies. */
export const storagePrograms: SystemProgram[] = [{ program: 'redis-server', debian: 'redis-server' }];

/** A browser that has no windows. It needs less than half of the processor time of one that only hides them. */
export const browserPrograms: SystemProgram[] = [
  { program: 'chromium-headless-shell', debian: 'chromium-headless-shell' },
];

/** The complete browser, which installs web apps, and which servers start. */
export const desktopBrowserPrograms: SystemProgram[] = [{ program: 'chromium', debian: 'chromium' }];

/** The browser without windows, and without background requests. */
export const chromiumOptions = {
  executablePath: '/usr/lib/chromium/chromium-headless-shell',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
};

/** Where system programs are, whether the PATH of a plain user names these folders or not. */
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/sbin'];

export function isInstalled(program: string): boolean {
  return folders.some((folder) => existsSync(join(folder, program)));
}

/** Installs missing programs if possible (as root on Debian), and returns the programs that are still missing. */
export function installMissing(programs: readonly SystemProgram[]): SystemProgram[] {
  const missing = programs.filter(({ program }) => !isInstalled(program));
  if (missing.length === 0 || process.getuid?.() !== 0 || !isInstalled('apt-get')) return missing;
  const packages = missing.map(({ debian }) => debian);
  process.stderr.write(`installing ${packages.join(', ')} with apt-get\n`);
  aptGet('update');
  aptGet('install', '--yes', ...packages);
  return missing.filter(({ program }) => !isInstalled(program));
}

function aptGet(...args: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, stderr } = spawnSync('apt-get', ['-qq', ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (status !== 0) process.stderr.write(stderr);
}
