import { unwatchFile, watch, watchFile } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { invalid, messageOf, tooLarge } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import type { Logger } from 'pino';
import { parseJson } from '@toolhive/contract/json-text';
import { maxRegistryBytes } from './fetch-registry.ts';
import { maxRegistryDepth, readRegistry } from './read.ts';
import type { Reading } from './read.ts';
import { unread } from './source.ts';
import type { Source, SourceState } from './source.ts';
import { readBoundedFile } from '@toolhive/state/files';

export interface FileSourceOptions {
  /** Absolute. */
  path: string;
  log: Logger;
  now: () => Date;
  onChange: () => void;
  /** How often to check a file without change notifications. */
  pollMs?: number;
}

/** How long a file is left alone after a change, which is often one of several. */
const settleMs = 50;
const defaultPollMs = 5_000;
/** The link that Kubernetes replaces when the content of a mounted ConfigMap changes. */
const mountedData = '..data';

/**
 * A registry in a file that users edit. It is read again after every change: the directory is watched, because
 * editors replace files, and the file is also checked periodically, because some file systems do not report changes.
 * An invalid edit leaves the previous content in place.
 */
export class FileSource implements Source {
  readonly type = 'file';
  readonly place: string;
  readonly #options: FileSourceOptions;
  #watcher: FSWatcher | undefined;
  #settling: NodeJS.Timeout | undefined;
  readonly #reloads = new SerialQueue();
  #text: string | undefined;
  #reading: (Reading & { fetchedAt: string }) | undefined;
  #problem: string | undefined;

  private constructor(options: FileSourceOptions) {
    this.#options = options;
    this.place = options.path;
  }

  /** Watches a file that may be there or not. */
  static async open(options: FileSourceOptions): Promise<FileSource> {
    const source = new FileSource(options);
    await source.#attempt();
    source.#watch();
    return source;
  }

  /** Reads a file for the first time. Throws if it contains no registry. */
  static async prove(options: FileSourceOptions): Promise<FileSource> {
    const source = new FileSource(options);
    if (!source.place.endsWith('.json')) throw invalid(`${source.place} does not end in .json`);
    await source.#load();
    source.#watch();
    return source;
  }

  get state(): SourceState {
    const said = this.#problem === undefined ? {} : { problem: this.#problem };
    if (this.#reading === undefined) return { ...unread, ...said };
    return { ...this.#reading, isUnread: false, isStale: this.#problem !== undefined, ...said };
  }

  /** Returns immediately, because changes are read as they happen. */
  async read(): Promise<void> {}

  refresh(): Promise<void> {
    return this.#reloads.run(() => this.#reload());
  }

  async #reload(): Promise<void> {
    const [text, problem] = [this.#text, this.#problem];
    await this.#attempt();
    if (text !== this.#text || problem !== this.#problem) this.#options.onChange();
  }

  async #attempt(): Promise<void> {
    try {
      await this.#load();
    } catch (error) {
      const problem = messageOf(error);
      if (problem !== this.#problem) this.#options.log.warn({ err: error }, 'registry could not be read');
      this.#problem = problem;
    }
  }

  async #load(): Promise<void> {
    const text = await readText(this.place);
    if (text !== this.#text) {
      const reading = readRegistry(parseJson(text, this.place, { maxDepth: maxRegistryDepth }));
      this.#reading = { ...reading, fetchedAt: this.#options.now().toISOString() };
      this.#text = text;
    }
    this.#problem = undefined;
  }

  #watch(): void {
    const interval = this.#options.pollMs ?? defaultPollMs;
    watchFile(this.place, { interval, persistent: false }, this.#changed);
    try {
      this.#watcher = watch(dirname(this.place), { persistent: false }, (_event, name) => {
        if (name === null || name === basename(this.place) || name === mountedData) this.#changed();
      });
      this.#watcher.on('error', () => {}); // the directory disappeared, so only the periodic check remains
    } catch {
      // a missing directory cannot be watched, so only the periodic check remains
    }
  }

  readonly #changed = (): void => {
    clearTimeout(this.#settling);
    // Held by #reloads.
    this.#settling = setTimeout(() => {
      this.refresh().catch(raiseFault);
    }, settleMs).unref();
  };

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#settling);
    unwatchFile(this.place, this.#changed);
    this.#watcher?.close();
    await this.#reloads.idle();
  }
}

async function readText(path: string): Promise<string> {
  try {
    const bytes = await readBoundedFile(path, {
      maxBytes: maxRegistryBytes,
      notAFile: () => invalid(`${path} is not a file`),
      tooLarge: () => tooLarge(`${path} is larger than ${maxRegistryBytes} bytes`),
    });
    return bytes.toString('utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw invalid(`${path} not found`, { cause: error });
    throw error;
  }
}
