import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import type { PinnedMount } from '@toolhive/runtime/mount-source';

/** In the words of the C library and Go, and of Node.js and SQLite. */
const signs = ['ead-only file system', 'readonly database'];

/** Node.js, Python, and Go, each with the path. A server writes the text, so only plain characters are taken from it. */
const paths = [
  /EROFS: read-only file system, \w+ '(\/[\x20-\x26\x28-\x7e]{1,300})'/,
  /Read-only file system: '(\/[\x20-\x26\x28-\x7e]{1,300})'/,
  /\w+ (\/[\x21-\x39\x3b-\x7e]{1,300}): read-only file system/,
];

/** Paths that are safe in a command that users copy into a shell. */
const plain = /^[\w./@+ -]+$/;

/** Where packages are inside the sandbox and in images. */
const packages = /^\/(?:opt\/toolhive|app)\//;

/**
 * Looks in the output of a server for its first complaint about a path that it cannot write, and reports what to do about
 * it, once.
 */
export class RefusedWrites {
  readonly #mounts: readonly PinnedMount[];
  readonly #homeFiles: readonly string[];
  readonly #report: (text: string) => void;
  #isReported = false;

  /** `homeFiles` are the variables, as NAME=PATH, that move the files of the server into its home directory. */
  constructor(
    { mounts, homeFiles }: { mounts: readonly PinnedMount[]; homeFiles: readonly string[] },
    report: (text: string) => void,
  ) {
    this.#mounts = mounts;
    this.#homeFiles = homeFiles;
    this.#report = report;
  }

  /** Looks at a piece of output. */
  readonly look = (chunk: Buffer): void => {
    if (this.#isReported || !signs.some((sign) => chunk.includes(sign))) return;
    this.#isReported = true;
    const text = chunk.toString('latin1');
    const path = paths
      .map((pattern) => pattern.exec(text)?.[1])
      .find((found) => found !== undefined && plain.test(found));
    this.#report(this.#describe(path));
  };

  /** Looks at everything that is read from a stream, without reading it before others do. */
  follow(stream: Readable): void {
    stream.once('resume', () => stream.on('data', this.look));
  }

  #describe(path: string | undefined): string {
    if (path === undefined) {
      return 'it cannot write a file, because most of its file system is read-only: let it write to /home/server, or mount a directory with --volume DIR:PATH';
    }
    const mount = this.#mounts.find(({ target }) => path === target || path.startsWith(`${target}/`));
    if (mount !== undefined) {
      return `it cannot write ${path}, because ${mount.source} is mounted read-only: to allow it, remove :ro from --volume ${mount.source}:${mount.target}:ro`;
    }
    if (packages.test(path) && this.#homeFiles.length > 0) {
      const flags = this.#homeFiles.map((variable) => `-e ${variable}`).join(' ');
      return `it cannot write ${path}, which is part of its package: to store its files in its home directory, add ${flags}`;
    }
    if (packages.test(path)) {
      return `it cannot write ${path}, which is part of its package: set another path in /home/server with the argument or environment variable that the server has for it, for example -e NAME=/home/server/${lastingName(path)}`;
    }
    return `it cannot write ${path}: to allow it, mount a directory there with --volume DIR:${dirname(path)}`;
  }
}

/** What programs append to the name of a file for the time that they write it, and SQLite for its journals. */
const temporary = /(?<=.)(?:~|\.(?:tmp|temp|part|lock|swp|\d+|[\da-f-]{6,})|-(?:journal|wal|shm))$/i;

/** The name of the file that a server wants to keep, for the path of the file that it could not write. */
function lastingName(path: string): string {
  let name = path.split('/').at(-1) ?? '';
  while (temporary.test(name)) name = name.replace(temporary, '');
  return name;
}
