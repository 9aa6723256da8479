import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { unavailable } from '@toolhive/contract/failure';
import type { ThvError } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';

/** How much of the end of a log is read. */
const maxBytes = 16 * 1024;

/** How a process ended. */
export interface ProcessEnd {
  code: number | null;
  signal: string | null;
  /** Why it could not be started. */
  reason?: string;
}

/**
 * Why a background daemon has ended at its start: the last error in its log behind a position, with its hint. Without one,
 * how its process ended.
 */
export function daemonFailure(logPath: string, position: number, end: ProcessEnd): ThvError {
  const lines = linesBehind(logPath, position);
  const at = lines.findLastIndex((line) => line.startsWith(errorMark));
  const { [at]: error, [at + 1]: next = '' } = lines;
  const log = `see its log: ${logPath}`;
  if (error === undefined)
    return unavailable(`the daemon could not be started: ${described(end)}`, { hint: log });
  const hint = next.startsWith(hintMark) ? printable(next.slice(hintMark.length)) : log;
  return unavailable(`the daemon could not be started: ${printable(error.slice(errorMark.length))}`, {
    hint,
  });
}

function described({ code, signal, reason }: ProcessEnd): string {
  if (reason !== undefined) return reason;
  return signal === null
    ? `its process ended with the exit code ${code}`
    : `its process was ended by ${signal}`;
}

const errorMark = 'Error: ';
const hintMark = 'Hint: ';

function linesBehind(path: string, position: number): string[] {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const from = Math.max(position, size - maxBytes);
    const buffer = Buffer.alloc(Math.max(0, size - from));
    const length = readSync(file, buffer, 0, buffer.length, from);
    return buffer.toString('utf8', 0, length).split('\n');
  } finally {
    closeSync(file);
  }
}
