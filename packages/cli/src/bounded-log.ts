import { copyFileSync, fstatSync, ftruncateSync, statSync, writeSync } from 'node:fs';

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

/**
 * Writes lines to a log that another process has opened. When the log has grown, moves its content to a second file.
 * The log file itself stays, because the process's other output uses the same descriptor.
 */
export function boundedLog({ path, descriptor, limitBytes = maxLogBytes }: BoundedLogOptions): {
  write(line: string): void;
} {
  let bytes = fstatSync(descriptor).size;
  return {
    write(line) {
      try {
        writeSync(descriptor, line);
        bytes += Buffer.byteLength(line);
        if (bytes <= limitBytes) return;
        bytes = 0;
        if (statSync(path).ino !== fstatSync(descriptor).ino) return; // the file was replaced or removed
        copyFileSync(path, `${path}.1`);
        ftruncateSync(descriptor);
      } catch {
        // A full disk must not end the daemon.
      }
    },
  };
}
