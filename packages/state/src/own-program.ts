import { isSea } from 'node:sea';

/** The words that start this program again. The single executable has its script inside. */
export function ownProgram(): [string, ...string[]] {
  return isSea() ? [process.execPath] : [process.execPath, ...process.execArgv, process.argv[1] ?? ''];
}
