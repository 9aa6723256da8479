import { copyFileSync, fstatSync, ftruncateSync, statSync, writeSync } from 'node:fs';

/** How large the log of a daemon in the background grows before it becomes the older of two. */
const maxLogBytes = 8 * 1024 * 1024;

/** The name of that log, in the state directory. */
export const daemonLogFile = 'hive.log';

export interface BoundedLogOptions {
  /** Where the log is. */
  path: string;
  /** The file descriptor that is open for appending to it. */
  descriptor: number;
  limitBytes?: number;
}

/**
 * Writes lines into a log that another process has opened. When it has grown, its content moves to a second file. The log
 * itself stays, because whatever else this process prints goes to the same descriptor.
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
        if (statSync(path).ino !== fstatSync(descriptor).ino) return; // it was replaced or removed
        copyFileSync(path, `${path}.1`);
        ftruncateSync(descriptor);
      } catch {
        // A full disk must not end the daemon.
      }
    },
  };
}
