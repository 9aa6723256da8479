import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/**
 * Waits for its input to end, which it does when whoever holds the other side of the pipe ends it, or is killed. The
 * group is an argument: the script is always the same.
 */
const script = 'read -r _; kill -s KILL -- "-$1"';

/**
 * Has a group of processes end with this one, even if this one is killed and can do nothing for that any more. Disposing
 * of it leaves the group alone. On Windows there are no such groups, and nothing is done.
 */
export function guard(group: number): Disposable {
  if (process.platform === 'win32') return { [Symbol.dispose]() {} };
  const watcher = spawn('/bin/sh', ['-c', script, 'thv-guard', String(group)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Ctrl-C at a terminal goes to a whole group, and is not meant for this one.
    detached: true,
  });
  watcher.on('error', () => {}); // without a shell the group lives on, as it would without any of this
  watcher.stdin.on('error', () => {}); // it may have ended
  watcher.unref();
  if (watcher.stdin instanceof Socket) watcher.stdin.unref();
  return {
    [Symbol.dispose]() {
      watcher.kill('SIGKILL');
      watcher.stdin.destroy();
    },
  };
}
