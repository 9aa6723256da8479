// @suite e2e (in depth)
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { proves } from '@toolhive/testing/promises';
import { makeUser, testServer, until } from './testing/thv.ts';
import type { User } from './testing/thv.ts';
import { bootUserManager, canManageServices } from './testing/user-manager.ts';
import type { UserManager } from './testing/user-manager.ts';

interface Status {
  installed: boolean;
  enabled: boolean;
  running: boolean;
  pid: number | null;
}

const unitOf = ({ home }: User): string => join(home, '.config/systemd/user/toolhive.service');

async function statusOf(manager: UserManager): Promise<Status> {
  const { code, stdout, stderr } = await manager.thv('service', 'status', '--format', 'json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Status;
}

/** Waits until the daemon answers and the workload runs. */
async function workloadRuns(manager: UserManager, name: string): Promise<void> {
  await until(async () => {
    // In the session, because a command that cannot reach systemd would start a daemon in the background.
    const { code, stdout } = await manager.thv('list', '--format', 'json');
    if (code !== 0) return false;
    const listed = JSON.parse(stdout) as { name: string; status: string }[];
    return listed.some((workload) => workload.name === name && workload.status === 'running');
  });
}

describe.runIf(canManageServices)('thv service', () => {
  test('keeps the daemon running after a crash and after a reboot', async () => {
    proves('state.service');
    await using user = await makeUser();
    await user.mustThv('run', testServer, '--name', 'echo', '--', 'echo');
    await using stack = new AsyncDisposableStack();
    const boot = stack.use(await bootUserManager(user));

    const installed = await boot.thv('service', 'install');

    expect(installed.stderr).toContain('stopping the background daemon');
    expect(installed).toMatchObject({
      code: 0,
      stdout: `Installed the ToolHive service (systemd): ${unitOf(user)}\n`,
    });
    const first = await statusOf(boot);
    expect(first).toMatchObject({ installed: true, enabled: true, running: true });
    await workloadRuns(boot, 'echo');

    await boot.run('kill', '-KILL', String(first.pid));
    await until(async () => {
      const { running, pid } = await statusOf(boot);
      return running && pid !== null && pid !== first.pid;
    });
    await workloadRuns(boot, 'echo');

    await boot.run('systemctl', '--user', 'stop', 'toolhive.service');
    const started = await boot.thv('list', '--all');
    expect(started.stderr).toContain('started the ToolHive service (systemd)');
    expect(await statusOf(boot)).toMatchObject({ running: true });

    await boot[Symbol.asyncDispose]();
    const reboot = stack.use(await bootUserManager(user));
    await workloadRuns(reboot, 'echo');
    expect(await statusOf(reboot)).toMatchObject({ enabled: true, running: true });

    const removed = await reboot.thv('service', 'uninstall');
    expect(removed).toMatchObject({ code: 0, stdout: `Removed the ToolHive service: ${unitOf(user)}\n` });
    await expect(access(unitOf(user))).rejects.toThrow('ENOENT');
    expect(await statusOf(reboot)).toMatchObject({ installed: false, running: false });
    expect((await reboot.thv('service', 'uninstall')).code).toBe(4);
  });

  test('serves the API on a port, and writes no secrets to the unit', async () => {
    await using user = await makeUser({
      env: { TOOLHIVE_SECRETS_PASSWORD: 'hunter2', XDG_DATA_HOME: '/tmp/100% "of" $HOME' },
    });
    await using boot = await bootUserManager(user);

    const installed = await boot.thv('service', 'install', '--port', '0', '--format', 'json');

    expect(JSON.parse(installed.stdout)).toEqual({
      manager: 'systemd',
      path: unitOf(user),
      pid: expect.any(Number) as number,
    });
    const unit = await readFile(unitOf(user), 'utf8');
    expect(unit).not.toContain('hunter2');
    const { pid } = await statusOf(boot);
    const environment = await boot.run('cat', `/proc/${pid}/environ`);
    expect(environment.split('\0')).toContain('XDG_DATA_HOME=/tmp/100% "of" $HOME');
    const log = await boot.run('cat', `/proc/${pid}/cmdline`);
    expect(log.split('\0')).toEqual(expect.arrayContaining(['serve', '--port', '0']));
    const removed = await boot.thv('service', 'uninstall', '--format', 'json');
    expect(JSON.parse(removed.stdout)).toEqual({ manager: 'systemd', path: unitOf(user) });
  });

  test('says that systemd does not manage services of the user, and changes nothing', async () => {
    await using user = await makeUser({ env: { XDG_RUNTIME_DIR: '/nowhere' } });

    const { code, stderr } = await user.thv('service', 'install');

    expect(code).toBe(5);
    expect(stderr).toContain('systemd does not manage services of this user');
    await expect(access(unitOf(user))).rejects.toThrow('ENOENT');
  });
});
