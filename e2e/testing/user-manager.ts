import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { isInstalled } from '@toolhive/testing/machine';
import { thvStart, until } from './thv.ts';
import type { User } from './thv.ts';

const systemd = '/lib/systemd/systemd';
const runtimeDirectory = '/run/user-of-test';

/** Whether a user manager can run here: systemd in new namespaces, with a cgroup hierarchy (cgroups(7), version 2). */
export const canManageServices =
  process.getuid?.() === 0 && isInstalled('unshare') && isInstalled('nsenter') && existsSync(systemd);

/** The systemd instance of a test user, as after a login. Everything that the instance has started ends with it. */
export interface UserManager extends AsyncDisposable {
  /** Runs `thv` in a shell of the session. */
  thv(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  /** Runs a program in the session and returns its output. */
  run(...words: [string, ...string[]]): Promise<string>;
}

/** Boots the manager. The process IDs inside are its own. */
export async function bootUserManager({ env }: User): Promise<UserManager> {
  const cgroup = `/sys/fs/cgroup/toolhive-test-${randomUUID()}`;
  const mountCgroups = [
    'umount --recursive /sys/fs/cgroup 2>/dev/null',
    'mount -t cgroup2 none /sys/fs/cgroup',
  ];
  const boot = [
    ...mountCgroups,
    `mkdir ${cgroup} && echo $$ > ${cgroup}/cgroup.procs`,
    'mount -t tmpfs none /run',
    `mkdir -p /run/systemd/system && mkdir -m 700 ${runtimeDirectory}`,
    `${systemd} --user --log-target=console & wait`,
  ].join('\n');
  const inside = { ...env, XDG_RUNTIME_DIR: runtimeDirectory };
  const flags = ['--mount', '--pid', '--cgroup', '--fork', '--kill-child', '--mount-proc'];
  const child = spawn('unshare', [...flags, '--propagation', 'private', 'sh', '-c', boot], {
    env: inside,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  const enter = async (words: readonly string[]) => {
    const leader = await until(() => childOf(child.pid));
    const flagsOfEntry = ['--target', String(leader), '--mount', '--pid', '--cgroup'];
    return outcomeOf('nsenter', [...flagsOfEntry, ...words], inside);
  };
  await until(async () =>
    (await enter(['systemctl', '--user', 'is-system-running'])).stdout.startsWith('running'),
  );
  return {
    thv: (...words) => enter([process.execPath, ...thvStart, ...words]),
    async run(...words) {
      const { code, stdout, stderr } = await enter(words);
      if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${stderr}`);
      return stdout;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await ended;
      // A cgroup can be removed when the last process has left it.
      const remove = [
        ...mountCgroups,
        `until find ${cgroup} -depth -type d -delete 2>/dev/null; do sleep 0.1; done`,
      ];
      await outcomeOf('unshare', ['--mount', 'sh', '-c', remove.join('\n')], env);
    },
  };
}

/** The process whose namespaces are the new ones: the only child of `unshare`. */
async function childOf(pid: number | undefined): Promise<number | undefined> {
  const { stdout } = await outcomeOf('ps', ['--ppid', String(pid), '--format', 'pid='], process.env);
  return stdout.trim() === '' ? undefined : Number(stdout);
}

function outcomeOf(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { env }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
  });
}
