import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/**
 * Waits for the end of its input, which occurs when the process at the other end of the pipe closes it or is killed.
 * The group is an argument, so the script is constant.
 */
const script = 'read -r _; kill -s KILL -- "-$1"';

/**
 * Ends a process group together with this process, even if this process is killed. Disposal releases the group.
 * Windows has no process groups, so the function does nothing there.
 */
export function guard(group: number): Disposable {
  if (process.platform === 'win32') return { [Symbol.dispose]() {} };
  const watcher = spawn('/bin/sh', ['-c', script, 'thv-guard', String(group)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Ctrl-C at a terminal goes to a whole group, and is not meant for this one.
    detached: true,
  });
  watcher.on('error', () => {}); // without a shell, the group survives, as it would without this guard
  watcher.stdin.on('error', () => {}); // the process may have ended
  watcher.unref();
  if (watcher.stdin instanceof Socket) watcher.stdin.unref();
  return {
    [Symbol.dispose]() {
      watcher.kill('SIGKILL');
      watcher.stdin.destroy();
    },
  };
}
