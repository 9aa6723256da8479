import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import type { PinnedMount } from './mount-source.ts';

/** In the words of the C library and Go, and of Node.js and SQLite. */
const signs = ['ead-only file system', 'readonly database'];

/**
 * The messages of Node.js, Python, and Go, each with the path. A server writes the text, so only plain characters are
 * taken from it.
 */
const paths = [
  /EROFS: read-only file system, \w+ '(\/[\x20-\x26\x28-\x7e]{1,300})'/,
  /Read-only file system: '(\/[\x20-\x26\x28-\x7e]{1,300})'/,
  /\w (\/[\x21-\x39\x3b-\x7e]{1,300}): read-only file system/,
];

/** The messages about a file that cannot be replaced by another one, because it is a mount. */
const replacements = [
  /(?:EBUSY|EXDEV): [\w -]{1,60}, rename '[^'\n]{1,400}' -> '(\/[\x20-\x26\x28-\x7e]{1,300})'/,
  /(?:Device or resource busy|Invalid cross-device link): '[^'\n]{1,400}' -> '(\/[\x20-\x26\x28-\x7e]{1,300})'/,
  /rename \/\S{1,300} (\/[\x21-\x39\x3b-\x7e]{1,300}): (?:device or resource busy|invalid cross-device link)/,
];
const signsOfReplacement = ['EBUSY', 'EXDEV', 'evice or resource busy', 'nvalid cross-device link'];

/** Paths that are safe in a command that users copy into a shell. */
const plain = /^[\w./@+ -]+$/;

/** Where packages are inside the sandbox and in images. */
const packages = /^\/(?:opt\/toolhive|app)\//;

/**
 * Searches a server's output for its first error about an unwritable path, or a mounted file that cannot be replaced, and
 * reports the fix, once.
 */
export class RefusedWrites {
  readonly #mounts: readonly PinnedMount[];
  readonly #homeFiles: readonly string[];
  readonly #report: (text: string) => void;
  #isReported = false;

  /** `homeFiles` are the variables, as NAME=PATH, that move the server's files into its home directory. */
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
    if (this.#isReported) return;
    if (signsOfReplacement.some((sign) => chunk.includes(sign))) this.#lookForReplacement(chunk);
    if (this.#isReported || !signs.some((sign) => chunk.includes(sign))) return;
    this.#isReported = true;
    const text = chunk.toString('latin1');
    const path = paths
      .map((pattern) => pattern.exec(text)?.[1])
      .find((found) => found !== undefined && plain.test(found));
    this.#report(this.#describe(path));
  };

  /** Observes everything that is read from a stream, without consuming it. */
  follow(stream: Readable): void {
    stream.once('resume', () => stream.on('data', this.look));
  }

  /** Only about files that the user has mounted. Other programs have other reasons for these errors. */
  #lookForReplacement(chunk: Buffer): void {
    const text = chunk.toString('latin1');
    const found = replacements.map((pattern) => pattern.exec(text)?.[1]);
    const mount = this.#mounts.find(({ target }) => found.includes(target));
    if (mount === undefined) return;
    this.#isReported = true;
    this.#report(
      `the server replaces ${mount.target} when it saves, which is impossible for a file that is mounted alone. Move ${mount.source} to a directory of its own, and mount the directory with --volume DIR:DIR`,
    );
  }

  #describe(path: string | undefined): string {
    if (path === undefined) {
      return 'the server cannot write a file, because most of its file system is read-only. Let it write to /home/server, or mount a directory with --volume DIR:PATH';
    }
    const mount = this.#mounts.find(({ target }) => path === target || path.startsWith(`${target}/`));
    if (mount !== undefined) {
      return `the server cannot write ${path}, because ${mount.source} is mounted read-only. To allow it, remove :ro from --volume ${mount.source}:${mount.target}:ro`;
    }
    if (packages.test(path) && this.#homeFiles.length > 0) {
      const flags = this.#homeFiles.map((variable) => `-e ${variable}`).join(' ');
      return `the server cannot write ${path}, which is part of its package. To store its files in its home directory, add ${flags}`;
    }
    if (packages.test(path)) {
      return `the server cannot write ${path}, which is part of its package. Set another path in /home/server with the server's argument or environment variable, for example -e NAME=/home/server/${lastingName(path)}`;
    }
    return `the server cannot write ${path}. To allow it, mount a directory there with --volume DIR:${dirname(path)}`;
  }
}

/** Suffixes of temporary files, including SQLite's journals. */
const temporary = /(?<=.)(?:~|\.(?:tmp|temp|part|lock|swp|\d+|[\da-f-]{6,})|-(?:journal|wal|shm))$/i;

/** The name of the lasting file for an unwritable temporary path. */
function lastingName(path: string): string {
  let name = path.split('/').at(-1) ?? '';
  while (temporary.test(name)) name = name.replace(temporary, '');
  return name;
}
