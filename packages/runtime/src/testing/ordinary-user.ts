import {
  appendFile,
  chmod,
  chown,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';

/** Each test process has its own, so that it ends only its own programs. */
const uid = 700_000 + process.pid;
const NAME = 'thv-test';
const repository = resolve(import.meta.dirname, '../../../..');

/** A user of this machine without any powers, who exists only for the programs that `command` starts. */
export interface OrdinaryUser extends AsyncDisposable {
  uid: number;
  env: Record<string, string>;
  /** A new private folder of this user. */
  folder(name: string): Promise<string>;
  /** The command that runs a program as this user. Its process is the one that is started. */
  command(program: string, ...args: string[]): [program: string, ...args: string[]];
  /** The path of a file of the repository that this user can read. */
  readable(path: string): string;
}

/**
 * Makes an ordinary user with subordinate ids. Only root can do that: `/etc/passwd` and the like have this user in a mount
 * namespace alone, where the repository has another path, too, as it may be in a directory of root.
 */
export async function openOrdinaryUser(): Promise<OrdinaryUser> {
  const root = await mkdtemp(join(tmpdir(), 'thv-user-'));
  await chmod(root, 0o755);
  await mkdir(join(root, 'repository'));
  await copyFile('/etc/passwd', join(root, 'passwd'));
  await appendFile(join(root, 'passwd'), `${NAME}:x:${uid}:${uid}::${root}/home:/bin/sh\n`);
  await writeFile(join(root, 'ids'), `${NAME}:600000:65536\n`);
  const folder = async (name: string): Promise<string> => {
    const path = join(root, name);
    await mkdir(path, { mode: 0o700 });
    await chown(path, uid, uid);
    return path;
  };
  const env = { HOME: await folder('home'), XDG_RUNTIME_DIR: await folder('run') };
  return {
    uid,
    env,
    folder,
    command: (program, ...args) => [
      'unshare',
      '--mount',
      'sh',
      '-ec',
      asUser,
      'sh',
      root,
      repository,
      program,
      ...args,
    ],
    readable: (path) => {
      const inside = relative(repository, path);
      return inside.startsWith('..') ? path : join(root, 'repository', inside);
    },
    async [Symbol.asyncDispose]() {
      await endProcesses();
      await rm(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

const asUser = `
mount --bind "$1/passwd" /etc/passwd
for ids in subuid subgid; do mount --bind "$1/ids" /etc/$ids; done
mount --bind "$2" "$1/repository"
shift 2
exec setpriv --reuid ${uid} --regid ${uid} --clear-groups -- "$@"
`;

/** Ends what the user still has, such as the process in which a rootless Podman keeps its user namespace. */
async function endProcesses(): Promise<void> {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry));
  for (const pid of pids) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''); // it has ended
    if (!status.includes(`\nUid:\t${uid}\t`)) continue;
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // it has ended
    }
  }
}
