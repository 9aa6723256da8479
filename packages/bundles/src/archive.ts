import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { cancelled, invalid, messageOf, ThvError, tooLarge, unsupported } from '@toolhive/contract/failure';
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';

/** What a bundle may contain at most. Larger ones would fill the disk before anyone notices. */
export const bundleLimits = {
  archiveBytes: 256 * 1024 ** 2,
  bytes: 1024 ** 3,
  entries: 50_000,
  depth: 40,
  /** How many times larger the content may be than the archive, apart from small archives. */
  ratio: 100,
  ratioFreeBytes: 32 * 1024 ** 2,
};

/** A file in a bundle. */
export interface BundleFile {
  path: string;
  size: number;
  isExecutable: boolean;
}

/**
 * The content of a bundle. Everything that the archive says about itself was checked before: nothing of it leads out
 * of a folder, no two files are the same file on any system, and no reader sees another content.
 */
export interface BundleArchive extends AsyncDisposable {
  files: readonly BundleFile[];
  /** Reads a whole file. Undefined if there is none. Throws `too-large` beyond `limit`. */
  read(path: string, limit: number): Promise<Buffer | undefined>;
  /** Writes all files into an empty folder. */
  extract(into: string, signal: AbortSignal): Promise<void>;
}

/** Opens a bundle. `title` names it in errors. Throws `invalid`, `unsupported`, or `too-large`. */
export async function openArchive(path: string, title: string): Promise<BundleArchive> {
  await using undo = new AsyncDisposableStack();
  const file = undo.use(await open(path, 'r'));
  const { size } = await file.stat();
  if (size > bundleLimits.archiveBytes)
    throw tooLarge(`${title} is larger than ${mebibytes(bundleLimits.archiveBytes)}`);
  const end = await endOfZip(file, size);
  const zip = await fromRandomAccessReaderPromise(new FileReader(file), end, {
    autoClose: false,
    strictFileNames: true,
  }).catch((error: unknown) => {
    throw notAnArchive(title, error);
  });
  undo.defer(() => zip.close());
  const entries = await checkedEntries(zip, { title, end });
  const resources = undo.move();
  const files = [...entries].map(([name, entry]): BundleFile => ({
    path: name,
    size: entry.uncompressedSize,
    isExecutable: (modeOf(entry) & 0o111) !== 0,
  }));
  return {
    files,

    async read(name, limit) {
      const entry = entries.get(name);
      if (entry === undefined) return undefined;
      if (entry.uncompressedSize > limit)
        throw tooLarge(`${name} in ${title} is larger than ${mebibytes(limit)}`);
      const chunks: Buffer[] = [];
      for await (const chunk of contentOf(zip, entry, title)) chunks.push(chunk);
      return Buffer.concat(chunks);
    },

    async extract(into, signal) {
      for (const [name, entry] of entries) {
        if (signal.aborted) throw cancelled('the installation was cancelled');
        const place = join(into, name);
        await mkdir(dirname(place), { recursive: true, mode: 0o755 });
        // Never more than these: no program of a bundle is to run as another user.
        await using target = await open(place, 'wx', (modeOf(entry) & 0o111) === 0 ? 0o644 : 0o755);
        for await (const chunk of contentOf(zip, entry, title)) await target.writeFile(chunk);
      }
    },

    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** Reads a file without closing it. */
class FileReader extends RandomAccessReader {
  readonly #file: FileHandle;

  constructor(file: FileHandle) {
    super();
    this.#file = file;
  }

  override _readStreamForRange(start: number, end: number): Readable {
    return Readable.from(rangeOf(this.#file, start, end), { objectMode: false });
  }

  /** Without a stream, because an archive has thousands of headers. */
  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    told: (error: Error | null) => void,
  ): void {
    this.#file.read(buffer, offset, length, position).then(
      ({ bytesRead }) => told(bytesRead < length ? new Error('unexpected end of the file') : null),
      (error: Error) => told(error),
    );
  }
}

const CHUNK_BYTES = 64 * 1024;

/** A stream of Node's own would close the file when it is no longer read. */
async function* rangeOf(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end;) {
    const length = Math.min(CHUNK_BYTES, end - at);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

const SIGNATURE_BEGIN = Buffer.from('MCPB_SIG_V1');
const SIGNATURE_END = Buffer.from('MCPB_SIG_END');
const LONGEST_SIGNATURE = 256 * 1024;

/**
 * Where the zip file ends. `mcpb sign` appends a signature, which is not part of the zip file and decides nothing here.
 */
async function endOfZip(file: FileHandle, size: number): Promise<number> {
  const length = Math.min(size, LONGEST_SIGNATURE);
  const { buffer: tail } = await file.read(Buffer.alloc(length), 0, length, size - length);
  if (!tail.subarray(-SIGNATURE_END.length).equals(SIGNATURE_END)) return size;
  const begin = tail.lastIndexOf(SIGNATURE_BEGIN);
  const head = begin + SIGNATURE_BEGIN.length;
  if (begin === -1 || head + 4 > length) return size;
  const isExact = head + 4 + tail.readUInt32LE(head) + SIGNATURE_END.length === length;
  return isExact ? size - length + begin : size;
}

interface Whole {
  title: string;
  /** Where the zip file ends. */
  end: number;
}

/** The files by their path. Throws for an archive that two readers could understand differently, or that is too large. */
async function checkedEntries(zip: ZipFile, whole: Whole): Promise<Map<string, Entry>> {
  const { title, end } = whole;
  const { bytes: mostBytes, entries: mostEntries, ratio, ratioFreeBytes } = bundleLimits;
  if (zip.entryCount > mostEntries) throw tooLarge(`${title} contains more than ${mostEntries} files`);
  const entries: Entry[] = [];
  const names = new Names(title);
  const files = new Map<string, Entry>();
  let bytes = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      const { fileName: name } = entry;
      entries.push(entry);
      requireOrdinary(entry, title);
      names.add(name);
      bytes += entry.uncompressedSize;
      if (!name.endsWith('/')) files.set(name, entry);
    }
  } catch (error) {
    throw error instanceof ThvError ? error : notAnArchive(title, error);
  }
  if (bytes > mostBytes) throw tooLarge(`the files in ${title} are larger than ${mebibytes(mostBytes)}`);
  if (bytes > ratioFreeBytes && bytes > end * ratio)
    throw tooLarge(`the files in ${title} are more than ${ratio} times larger than the bundle`);
  await requireOnePlaceEach(zip, entries, title);
  return files;
}

const FILE_TYPE = 0o170000;
const ordinaryTypes = { 0: 'file', 0o100000: 'file', 0o040000: 'folder' } as const;
const otherTypes: Record<number, string | undefined> = {
  0o120000: 'a symbolic link',
  0o010000: 'a named pipe',
  0o140000: 'a socket',
  0o020000: 'a device',
  0o060000: 'a device',
};

/** The Unix mode. 0 if the packer wrote none. */
const modeOf = ({ externalFileAttributes }: Entry): number => externalFileAttributes >>> 16;

const STORED = 0;
const DEFLATED = 8;

function requireOrdinary(entry: Entry, title: string): void {
  const { fileName: name, compressionMethod: method } = entry;
  // The old encoding of names shows control characters as pictures.
  if (entry.fileNameRaw.some((byte) => byte < 0x20 || byte === 0x7f))
    throw invalid(`the path ${quoted(name)} in ${title} is not a path on every system`);
  const type = modeOf(entry) & FILE_TYPE;
  const kind = Object.hasOwn(ordinaryTypes, type)
    ? ordinaryTypes[type as keyof typeof ordinaryTypes]
    : undefined;
  if (kind === undefined) {
    throw invalid(`${quoted(name)} in ${title} is ${otherTypes[type] ?? 'not a file'}`, {
      hint: 'a bundle contains only files. Ask its author to pack it with mcpb pack',
    });
  }
  if (type !== 0 && (kind === 'folder') !== name.endsWith('/'))
    throw invalid(`${quoted(name)} in ${title} is both a file and a folder`);
  if (name.endsWith('/') && entry.uncompressedSize > 0)
    throw invalid(`the folder ${quoted(name)} in ${title} has content`);
  if (entry.isEncrypted()) {
    throw unsupported(`${quoted(name)} in ${title} is encrypted`, {
      hint: 'use a bundle without a password',
    });
  }
  if (method !== STORED && method !== DEFLATED) {
    throw unsupported(`${quoted(name)} in ${title} has the unknown compression method ${method}`, {
      hint: 'ask the author of the bundle to pack it with mcpb pack',
    });
  }
}

/** The names of an archive, as every file system would see them. */
class Names {
  readonly #title: string;
  readonly #files = new Map<string, string>();
  readonly #folders = new Map<string, string>();

  constructor(title: string) {
    this.#title = title;
  }

  add(name: string): void {
    const path = name.replace(/\/$/, '');
    const parts = path.split('/');
    const problem =
      parts.length > bundleLimits.depth
        ? `is deeper than ${bundleLimits.depth} folders`
        : parts.map(problemOf).find((found) => found !== undefined);
    if (problem !== undefined) throw invalid(`the path ${quoted(name)} in ${this.#title} ${problem}`);
    const keys = parts.map((_, index) => keyOf(parts.slice(0, index + 1).join('/')));
    const own = keys.at(-1) ?? '';
    for (const [index, key] of keys.slice(0, -1).entries())
      this.#addFolder(key, parts.slice(0, index + 1).join('/'));
    if (name.endsWith('/')) return this.#addFolder(own, path);
    const other = this.#files.get(own) ?? this.#folders.get(own);
    if (other !== undefined) throw this.#same(other, path);
    this.#files.set(own, path);
  }

  #addFolder(key: string, path: string): void {
    const file = this.#files.get(key);
    if (file !== undefined) throw this.#same(file, path);
    const other = this.#folders.get(key) ?? path;
    if (other !== path) throw this.#same(other, path);
    this.#folders.set(key, path);
  }

  #same(one: string, other: string): Error {
    const text =
      one === other
        ? `contains ${quoted(one)} twice`
        : `contains ${quoted(one)} and ${quoted(other)}, which are the same file on other systems`;
    return invalid(`${this.#title} ${text}`, { hint: 'a bundle must mean the same to every reader' });
  }
}

/** Equal for names that some file system takes for the same. */
const keyOf = (path: string): string => path.normalize('NFKC').toLowerCase().normalize('NFKC');

function problemOf(part: string): string | undefined {
  if (part === '' || part === '.' || part === '..') return 'leads out of the bundle or is not plain';
  if (/[\p{Cc}\\]/u.test(part)) return 'is not a path on every system';
  return Buffer.byteLength(part) > 255 ? 'is too long' : undefined;
}

/**
 * Throws unless the content begins with the first file, no two files share bytes, and each local header names the same
 * file as the directory of the archive.
 */
async function requireOnePlaceEach(zip: ZipFile, entries: readonly Entry[], title: string): Promise<void> {
  const inOrder = entries.toSorted(
    (one, other) => one.relativeOffsetOfLocalHeader - other.relativeOffsetOfLocalHeader,
  );
  let end = 0;
  for (const entry of inOrder) {
    const { fileName: name, relativeOffsetOfLocalHeader: begin } = entry;
    if (end === 0 && begin !== 0) {
      throw invalid(`${title} contains other data before its first file`, {
        hint: 'ask the author of the bundle to pack it with mcpb pack',
      });
    }
    if (begin < end) throw invalid(`${quoted(name)} in ${title} overlaps with another file`);
    const local = await zip.readLocalFileHeaderPromise(entry).catch((error: unknown) => {
      throw notAnArchive(title, error);
    });
    const hasSizes = (entry.generalPurposeBitFlag & 0x8) === 0 && local.uncompressedSize !== 0xffffffff;
    const isSame =
      local.fileName.equals(entry.fileNameRaw) &&
      local.compressionMethod === entry.compressionMethod &&
      (!hasSizes || (local.uncompressedSize === entry.uncompressedSize && local.crc32 === entry.crc32));
    if (!isSame) {
      throw invalid(`${quoted(name)} in ${title} is described in two different ways`, {
        hint: 'a bundle must mean the same to every reader. Ask its author to pack it with mcpb pack',
      });
    }
    end = local.fileDataStart + entry.compressedSize;
  }
}

/** The content of a file. Throws `invalid` if it has another size or checksum than announced. */
async function* contentOf(zip: ZipFile, entry: Entry, title: string): AsyncGenerator<Buffer> {
  const name = entry.fileName;
  let sum = 0;
  try {
    const stream = await zip.openReadStreamPromise(entry);
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof ThvError) throw error;
    throw invalid(`${quoted(name)} in ${title} cannot be unpacked: ${messageOf(error)}`);
  }
  if (sum !== entry.crc32) {
    throw invalid(`${quoted(name)} in ${title} is damaged`, { hint: 'download the bundle again' });
  }
}

function notAnArchive(title: string, error: unknown): ThvError {
  return invalid(`${title} is not a bundle: ${messageOf(error)}`, {
    hint: 'a bundle (.mcpb or .dxt) is a zip file with a manifest.json, as mcpb pack or thv pack writes it',
    cause: error,
  });
}

const mebibytes = (bytes: number): string => `${bytes / 1024 ** 2} MiB`;

const quoted = (name: string): string => JSON.stringify(name.slice(0, 200));
