import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import { cancelled, conflict, invalid, notFound, tooLarge } from '@toolhive/contract/failure';
import { type BundleArchive, bundleLimits, openArchive } from './archive.ts';
import { MANIFEST, MANIFEST_LIMIT, type Manifest, readManifest } from './manifest.ts';

/** A bundle in the store. */
export interface StoredBundle {
  /** The SHA-256 of the bundle, in hexadecimal notation. */
  sha256: string;
  manifest: Manifest;
}

/** Where a bundle comes from: an absolute path, or an https URL. */
export interface BundlePlace {
  place: string;
  /** The hash of the only acceptable content. */
  sha256?: string | undefined;
}

export interface BundleCall {
  report: (message: string) => void;
  signal: AbortSignal;
  /** Passes the content behind an https URL to `receive`. Decides which addresses may be reached. */
  download: (url: string, receive: (content: AsyncIterable<Uint8Array>) => Promise<void>) => Promise<void>;
}

/**
 * The bundles of the user: one file for each content, named after its SHA-256. A bundle is checked completely before it
 * is stored, and compared with its name whenever it is used.
 */
export class BundleStore {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Stores a bundle unless it is stored already. Throws `conflict` for other content than expected. */
  async obtain({ place, sha256 }: BundlePlace, call: BundleCall): Promise<StoredBundle> {
    if (sha256 !== undefined && (await this.#has(sha256))) return this.#read(sha256, titleOf(place));
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const staged = join(this.#directory, `.${randomUUID()}.new`);
    try {
      const found = await this.#receive(place, staged, call);
      if (sha256 !== undefined && found !== sha256) throw otherContent(place, { expected: sha256, found });
      await using archive = await openArchive(staged, titleOf(place));
      const manifest = await manifestIn(archive, titleOf(place));
      await rename(staged, this.path(found));
      return { sha256: found, manifest };
    } finally {
      await rm(staged, { force: true });
    }
  }

  /** Opens a stored bundle. Throws `not-found` if it is gone, and `conflict` if its content has changed. */
  async open(sha256: string, title: string): Promise<BundleArchive & { manifest: Manifest }> {
    if (!(await this.#has(sha256))) {
      throw notFound(`the content sha256-${sha256} of ${title} is no longer stored`, {
        hint: 'run the bundle again from its file or URL',
      });
    }
    const path = this.path(sha256);
    const found = await hashOf(path);
    if (found !== sha256) {
      throw conflict(
        `the stored content of ${title} has changed: its SHA-256 is ${found} instead of ${sha256}`,
        {
          hint: `delete ${path}, and run the bundle again from its file or URL`,
        },
      );
    }
    await using undo = new AsyncDisposableStack();
    const archive = undo.use(await openArchive(path, title));
    const manifest = await manifestIn(archive, title);
    const resources = undo.move();
    return Object.assign(archive, { manifest, [Symbol.asyncDispose]: () => resources.disposeAsync() });
  }

  /**
   * Removes the content that no file in a directory of run configs names, and the remains of a killed daemon. A run config
   * that is damaged still names its bundle, and if one cannot be read, all content stays. Not while workloads can be
   * created, because a new workload uses its bundle before its run config exists.
   */
  async removeUnused(runConfigs: string): Promise<void> {
    const names = await readdir(this.#directory).catch(() => []); // no bundle was stored yet
    if (names.length === 0) return;
    try {
      const configs = await readdir(runConfigs);
      const texts = await Promise.all(configs.map((name) => readFile(join(runConfigs, name), 'utf8')));
      for (const name of names) {
        const [, sha256] = /^([0-9a-f]{64})\.mcpb$/.exec(name) ?? [];
        const isUnused = sha256 !== undefined && !texts.some((text) => text.includes(sha256));
        if (isUnused || /^\..*\.new$/.test(name)) await rm(join(this.#directory, name), { force: true });
      }
    } catch {
      return; // what is left takes room until another start
    }
  }

  path(sha256: string): string {
    return join(this.#directory, `${sha256}.mcpb`);
  }

  async #has(sha256: string): Promise<boolean> {
    const found = await stat(this.path(sha256)).catch(() => undefined);
    return found?.isFile() === true;
  }

  async #read(sha256: string, title: string): Promise<StoredBundle> {
    await using archive = await this.open(sha256, title);
    return { sha256, manifest: archive.manifest };
  }

  /** Copies a bundle into a file, and returns its hash. */
  async #receive(place: string, staged: string, { download, report, signal }: BundleCall): Promise<string> {
    await using target = await open(staged, 'wx', 0o600);
    const hash = createHash('sha256');
    let bytes = 0;
    const receive = async (content: AsyncIterable<Uint8Array>): Promise<void> => {
      for await (const chunk of content) {
        if (signal.aborted) throw cancelled('the request was canceled');
        bytes += chunk.byteLength;
        if (bytes > bundleLimits.archiveBytes)
          throw tooLarge(`${titleOf(place)} is larger than ${bundleLimits.archiveBytes / 1024 ** 2} MiB`);
        hash.update(chunk);
        await target.writeFile(chunk);
      }
    };
    if (isUrl(place)) {
      report(`downloading ${titleOf(place)}`);
      await download(place, receive);
    } else {
      await using file = await openFile(place);
      await receive(file.createReadStream({ autoClose: false }));
    }
    await target.sync();
    return hash.digest('hex');
  }
}

/** Whether a bundle comes from a web server. */
export const isUrl = (place: string): boolean => !place.startsWith('/');

/** The name of a bundle in messages, without a query, which may contain credentials. */
function titleOf(place: string): string {
  if (!isUrl(place)) return place;
  const url = URL.parse(place);
  return url === null ? 'the bundle' : `${url.origin}${url.pathname}`;
}

async function openFile(path: string): Promise<FileHandle> {
  if (!isAbsolute(path))
    throw invalid(`the path ${path} is not absolute`, { hint: 'start the path with a slash' });
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException; // of the file system
    throw code === 'ENOENT' || code === 'ENOTDIR'
      ? notFound(`${path} not found`, { hint: 'check the path' })
      : invalid(`${path} cannot be read: ${code ?? 'unknown error'}`, {
          hint: 'check the permissions of the file',
        });
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw invalid(`${path} is not a file`, {
    hint: `to make a bundle of a directory, run thv pack ${basename(path)}`,
  });
}

async function manifestIn(archive: BundleArchive, title: string): Promise<Manifest> {
  const content = await archive.read(MANIFEST, MANIFEST_LIMIT);
  if (content !== undefined) return readManifest(content, `${MANIFEST} in ${title}`);
  const inner = archive.files.find(
    ({ path }) => path.toLowerCase().endsWith(`/${MANIFEST}`) || path.toLowerCase() === MANIFEST,
  );
  throw invalid(`${title} has no ${MANIFEST}`, {
    hint:
      inner === undefined
        ? 'a bundle (.mcpb or .dxt) is a zip file with a manifest.json, as mcpb pack or thv pack writes it'
        : `it contains ${JSON.stringify(inner.path.slice(0, 200))}, but the file must be ${MANIFEST} in the outermost folder`,
  });
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await using file = await open(path, 'r');
  for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

const otherContent = (place: string, { expected, found }: { expected: string; found: string }): Error =>
  conflict(`${titleOf(place)} has the SHA-256 ${found} instead of ${expected}`, {
    hint: 'the bundle has changed since it was recorded. To use the new content, run the bundle again without a hash, or wait until the registry entry names the new hash',
  });
