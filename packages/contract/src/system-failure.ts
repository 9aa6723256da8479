import { ThvError, messageOf, noSpace, unavailable } from './failure.ts';

/** An error of the operating system, as Node.js throws it, or an error of SQLite. */
interface SystemError {
  code?: string;
  syscall?: string;
  path?: string;
  errcode?: number;
}

interface Problem {
  text: string;
  hint: string;
}

const diskIsFull = { text: 'no space is left on the device', hint: 'free some space, then try again' };
const isReadOnly = { text: 'the file system is read-only', hint: 'make it writable, then try again' };
const isDenied = { text: 'permission denied', hint: 'give this user write access, then try again' };
const hasFailed = {
  text: 'the storage device reports an error',
  hint: 'check the disk of this machine, then try again',
};

/** The meaning of error codes that users can fix. */
const problems: Record<string, Problem> = {
  ENOSPC: diskIsFull,
  EDQUOT: { text: 'the disk quota is used up', hint: 'free some space, then try again' },
  EROFS: isReadOnly,
  EACCES: isDenied,
  EPERM: isDenied,
  EISDIR: { text: 'the path is a directory', hint: 'move the directory away, then try again' },
  EIO: hasFailed,
  EMFILE: {
    text: 'the daemon has too many open files',
    hint: 'raise its limit on open files, for example with: ulimit -n 4096. Then restart the daemon',
  },
  ENFILE: {
    text: 'this machine has too many open files',
    hint: 'close other programs, then try again',
  },
  ENOMEM: { text: 'not enough memory is available', hint: 'close other programs, then try again' },
  ESTALE: {
    text: 'the file server has replaced the file',
    hint: 'mount the network file system again, then restart the daemon',
  },
};

/** The same by the primary result codes of SQLite: SQLITE_READONLY, SQLITE_IOERR, and SQLITE_FULL. */
const databaseProblems: Record<number, Problem> = { 8: isReadOnly, 10: hasFailed, 13: diskIsFull };

/** An error with the failed action, its cause, and the fix. */
export function notWritten(what: string, cause: unknown): ThvError {
  const { code = '' } = cause as SystemError;
  const { text, hint } = problems[code] ?? { text: messageOf(cause), hint: undefined };
  const failure = isFull(code) ? noSpace : unavailable;
  return failure(`${what}: ${text}`, { hint, cause });
}

/** The error for a failure of the machine, which users can fix. Undefined for all others. */
export function systemFailure(thrown: unknown): ThvError | undefined {
  if (!(thrown instanceof Error) || thrown instanceof ThvError) return undefined;
  const { code = '', syscall = 'use', path, errcode } = thrown as SystemError;
  if (path !== undefined && problems[code] !== undefined)
    return notWritten(`cannot ${syscall} ${path}`, thrown);
  const problem = errcode === undefined ? problems[code] : databaseProblems[errcode & 0xff];
  // A denial that names no file is about something else.
  if (problem === undefined || problem === isDenied) return undefined;
  const failure = isFull(code) || problem === diskIsFull ? noSpace : unavailable;
  return failure(problem.text, { hint: problem.hint, cause: thrown });
}

function isFull(code: string): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT';
}
