import { relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { unavailable } from '@toolhive/contract/failure';
import { findProgram, installWith } from './programs.ts';
import { exitOf, spawnSealed } from './spawn.ts';

/** An access to a mounted file or directory. */
export interface MountAccess {
  kind: 'read' | 'write';
  /** The path inside the mount. Empty for the mount itself. */
  path: string;
}

/** The programs that observe mounts. */
interface WatchTools {
  inotifywait: string;
  setpriv: string;
}

const ESTABLISHING_MS = 10_000;
/** How much the observing program may write in a second. A server can cause any number of accesses. */
const MAX_BYTES_PER_SECOND = 1024 * 1024;

const reading = ['open', 'access'];
const writing = ['modify', 'attrib', 'create', 'delete', 'move'];

async function findWatchTools(env: NodeJS.ProcessEnv): Promise<WatchTools> {
  if (process.platform !== 'linux') throw unavailable(`mounts cannot be observed on ${process.platform}`);
  const widely = { PATH: `${env.PATH ?? ''}:/usr/bin:/bin` };
  const [inotifywait, setpriv] = await Promise.all([
    findProgram('inotifywait', widely),
    findProgram('setpriv', widely),
  ]);
  if (inotifywait === undefined)
    throw unavailable('inotifywait is not installed', { hint: installWith('inotify-tools') });
  if (setpriv === undefined)
    throw unavailable('setpriv is not installed', { hint: installWith('util-linux') });
  return { inotifywait, setpriv };
}

/**
 * Observes which files in a mounted file or directory are opened, read, and changed, by whichever program. It sees every
 * access from the moment it is returned, but not a request for the attributes of a file. It ends with the daemon.
 */
export class MountWatch implements Disposable {
  /** Settles with the reason if it ended by itself, or missed accesses. Undefined after disposal. Never rejects. */
  readonly ended: Promise<string | undefined>;
  readonly #stop: () => void;

  private constructor(ended: Promise<string | undefined>, stop: () => void) {
    this.ended = ended;
    this.#stop = stop;
  }

  /** Throws `unavailable` if the path cannot be observed, for example because it contains too many directories. */
  static async open(
    path: string,
    env: NodeJS.ProcessEnv,
    onAccess: (access: MountAccess) => void,
  ): Promise<MountWatch> {
    const tools = await findWatchTools(env);
    const events = [...reading, ...writing].flatMap((event) => ['--event', event]);
    const watching = ['--monitor', '--recursive', ...events, '--format', '%e %w%f', '--', path];
    const observer = spawnSealed(
      tools.setpriv,
      ['--pdeathsig', 'KILL', '--', tools.inotifywait, ...watching],
      [undefined, 'pipe', 'pipe'],
    );
    let [said, isStopped, isFlooded] = ['', false, false];
    const stop = (): void => {
      isStopped = true;
      observer.kill('SIGKILL');
    };
    const { promise: established, resolve } = Promise.withResolvers<true>();
    observer.stderr?.on('data', (chunk: Buffer) => {
      said = `${said}${chunk.toString()}`.slice(-4000);
      if (said.includes('Watches established')) resolve(true);
    });
    const ended = exitOf(observer).then(() => {
      if (isFlooded) return 'there were too many accesses to record';
      return isStopped ? undefined : complaintIn(said);
    });
    if (observer.stdout !== null)
      follow(observer.stdout, path, onAccess, () => {
        isFlooded = true;
        observer.kill('SIGKILL');
      });
    const timeout = setTimeout(stop, ESTABLISHING_MS);
    const isReady = await Promise.race([established, ended]);
    clearTimeout(timeout);
    if (isReady === true) return new MountWatch(ended, stop);
    throw unavailable(isReady ?? 'it contains too many directories');
  }

  [Symbol.dispose](): void {
    this.#stop();
  }
}

function follow(
  stdout: Readable,
  mount: string,
  onAccess: (access: MountAccess) => void,
  onFlood: () => void,
): void {
  const within = mount.endsWith('/') ? mount : `${mount}/`;
  let [bytes, since] = [0, performance.now()];
  stdout.on('data', (chunk: Buffer) => {
    const now = performance.now();
    if (now - since > 1000) [bytes, since] = [0, now];
    bytes += chunk.length;
    if (bytes > MAX_BYTES_PER_SECOND) onFlood();
  });
  // A file name can contain the end of a line, so the rest of the name is a line, too.
  createInterface(stdout).on('line', (line) => {
    const [, events = '', path = ''] = /^([A-Z_,]+) (\/.*)$/.exec(line) ?? [];
    if (path !== mount && !path.startsWith(within)) return;
    const isWriting = /MODIFY|ATTRIB|CREATE|DELETE|MOVE/.test(events);
    onAccess({ kind: isWriting ? 'write' : 'read', path: relative(mount, path) });
  });
}

function complaintIn(said: string): string {
  if (/upper limit on inotify|No space left/.test(said))
    return 'it contains more directories than this user may observe (fs.inotify.max_user_watches)';
  const last = said.trim().split('\n').at(-1) ?? '';
  return `inotifywait ended: ${last}`;
}
