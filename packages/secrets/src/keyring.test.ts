// @suite system
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtempDisposable } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { EncryptedSecrets } from './encrypted.ts';
import { systemKeyring } from './keyring.ts';
import { cheapCost } from './testing/keyrings.ts';

/** On CI nothing may be missing as root on Linux: then these tests fail instead of being skipped. */
const mayNotSkip = process.env['CI'] === 'true' && process.getuid?.() === 0;
const hasSecretService =
  process.platform === 'linux' &&
  (mayNotSkip ||
    ['gnome-keyring-daemon', 'dbus-run-session'].every((program) => existsSync(`/usr/bin/${program}`)));

/** A session of a desktop with a real Secret Service, and what a process of it has in its environment. */
async function openSession(script: string) {
  const home = await mkdtempDisposable(join(tmpdir(), 'thv-secrets-'));
  const runtime = join(home.path, 'run');
  await mkdir(runtime, { mode: 0o700 });
  const env = { PATH: process.env['PATH'], HOME: home.path, XDG_RUNTIME_DIR: runtime };
  const session = spawn(
    'dbus-run-session',
    ['--', 'sh', '-c', `${script}\necho "$DBUS_SESSION_BUS_ADDRESS"\ncat`],
    {
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
    },
  );
  const ended = new Promise((resolve) => session.once('close', resolve));
  const lines = createInterface(session.stdout);
  const [address] = await new Promise<string[]>((resolve, reject) => {
    lines.once('line', (line) => resolve([line]));
    session.once('error', reject);
    session.once('close', () => reject(new Error('the session ended')));
  });
  return {
    home,
    env: { ...env, DBUS_SESSION_BUS_ADDRESS: address },
    async [Symbol.asyncDispose]() {
      session.stdin.end(); // then `cat` ends, the bus with it, and the daemon without its bus
      await ended;
      await home.remove();
    },
  };
}

const unlocked = `printf 'login password' | gnome-keyring-daemon --unlock --components=secrets >/dev/null`;

describe.skipIf(!hasSecretService)('the keyring of a desktop', () => {
  test('keeps what it is given', async () => {
    await using session = await openSession(unlocked);
    const keyring = systemKeyring(session);

    expect(await keyring.isAvailable()).toBe(true);
    expect(await keyring.get('someone')).toBeUndefined();
    expect(await keyring.set('someone', 'a väluè')).toBe(true);
    expect(await keyring.get('someone')).toBe('a väluè');
  });

  test('opens the encrypted secrets for the next daemon', async () => {
    await using session = await openSession(unlocked);
    const path = join(session.home.path, 'secrets');
    const open = () =>
      new EncryptedSecrets({ path, env: {}, keyring: systemKeyring(session), cost: cheapCost });
    const before = open();
    await before.setup();
    await before.set('token', 'value');

    expect(await open().get('token')).toBe('value');
  });

  test('does not exist while it is locked without a user to unlock it', async () => {
    await using session = await openSession('gnome-keyring-daemon --start --components=secrets >/dev/null');
    const reports: string[] = [];

    const keyring = systemKeyring({ ...session, report: (why) => reports.push(why), limitMs: 2_000 });

    expect(await keyring.isAvailable()).toBe(false);
    expect(await keyring.set('someone', 'x')).toBe(false);
    expect(reports).toHaveLength(1);
  });
});

describe.runIf(process.platform === 'linux')('a system', () => {
  test('without D-Bus has no keyring, whatever the kernel could keep until its next start', async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), 'thv-secrets-'));
    const reports: string[] = [];

    const keyring = systemKeyring({ env: { HOME: home.path }, report: (why) => reports.push(why) });

    expect(await keyring.isAvailable()).toBe(false);
    expect(reports[0]).toMatch(/D-?Bus/i);
  });

  test('whose D-Bus hangs has no keyring, and the daemon continues meanwhile', async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), 'thv-secrets-'));
    const bus = join(home.path, 'bus');
    const hung = createServer(() => {}).listen(bus);
    let ticks = 0;
    const clock = setInterval(() => ticks++, 20);

    const keyring = systemKeyring({
      env: { PATH: process.env['PATH'], HOME: home.path, DBUS_SESSION_BUS_ADDRESS: `unix:path=${bus}` },
      limitMs: 1_000,
    });
    const isAvailable = await keyring.isAvailable();
    clearInterval(clock);
    hung.close();

    expect(isAvailable).toBe(false);
    expect(ticks).toBeGreaterThan(3); // none if the daemon had waited
  });
});
