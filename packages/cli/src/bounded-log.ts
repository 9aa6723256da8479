import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  openSync,
  statSync,
  writeSync,
} from 'node:fs';

/** The size at which a background daemon's log is rotated. The previous file is kept. */
const maxLogBytes = 8 * 1024 * 1024;

/** The name of that log, in the state directory. */
export const daemonLogFile = 'hive.log';

export interface BoundedLogOptions {
  /** Where the log is. */
  path: string;
  /** A file descriptor that is open for appending to the log. */
  descriptor: number;
  limitBytes?: number;
}

/** How often an open file is compared with the file at its path. */
const checkMs = 1_000;

/**
 * Writes lines to a log that another process has opened. When the log has grown, moves its content to a second file.
 * The log file itself stays, because the process's other output uses the same descriptor. If a user or a clean-up has
 * removed or replaced the file, the lines continue in the one at its path.
 */
export function boundedLog({ path, descriptor, limitBytes = maxLogBytes }: BoundedLogOptions): {
  write(line: string): void;
} {
  let current = descriptor;
  let bytes = fstatSync(current).size;
  let checkedMs = performance.now();
  const isCurrent = (): boolean => {
    checkedMs = performance.now();
    return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(current).ino;
  };
  const reopen = (): void => {
    if (fstatSync(current).nlink === 0) ftruncateSync(current); // one that stays open would hold its space
    if (current !== descriptor) closeSync(current);
    current = openSync(path, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | noFollow, 0o600);
    bytes = fstatSync(current).size;
  };
  return {
    write(line) {
      try {
        const isLarge = bytes > limitBytes;
        const isDue = isLarge || performance.now() - checkedMs > checkMs;
        if (isDue && !isCurrent()) reopen();
        else if (isLarge) {
          copyFileSync(path, `${path}.1`);
          ftruncateSync(current);
          bytes = 0;
        }
        writeSync(current, line);
        bytes += Buffer.byteLength(line);
      } catch {
        // A full disk must not end the daemon.
      }
    },
  };
}

/** Windows has no such flag. */
const noFollow = constants.O_NOFOLLOW ?? 0;
