import { constants } from 'node:fs';
import { cp, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { KeyedSerialQueue } from '@toolhive/contract/serial-queue';
import { conflict } from '@toolhive/contract/failure';
import * as z from 'zod';
import type { Install } from './installers/install.ts';
import { ownDirectories } from './own-directories.ts';
import { measureFiles } from './measure.ts';
import { removeTree } from './remove-tree.ts';
import { COMPILED, restoreProgram, stampsIn } from './restored-program.ts';

/** A directory over a part of the package, in the order of the mounts. */
export interface LayerMount {
  source: string;
  /** The path in the package. */
  path: string;
  readOnly: boolean;
}

export interface Layer {
  mounts: readonly LayerMount[];
  /** Sentences for the user. */
  notes: readonly string[];
}

interface LayerRequest {
  workload: string;
  /** The installed version, of which the layer is a part. */
  source: string;
  folder: string;
  install: Install;
  /** Whether a server that changed its own program must not start. */
  refusesChanges: boolean;
}

const Content = z.object({ bytes: z.number(), files: z.number(), size: z.number() });
const LayerRecord = z.object({
  source: z.string(),
  own: z.array(z.object({ path: z.string(), inner: z.array(z.string()) })),
  content: Content,
  /** How each copied file was, by the number of its directory and its path. */
  stamps: z.record(z.string(), z.string()),
});
type LayerRecord = z.infer<typeof LayerRecord>;

type LayerContent = z.infer<typeof Content> & { excess?: string | undefined };

const RECORD = 'layer.json';

/**
 * Private copies of the packages' own directories, one for each workload, because many servers write beside their own
 * code. Dependencies stay read-only. Data is kept from start to start. Program files are compared with the verified
 * package before each start, so a server cannot keep a changed program.
 */
export class PackageLayers {
  readonly #directory: string;
  readonly #queue = new KeyedSerialQueue();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Creates or verifies a workload's layer. Throws `conflict` if the server changed its program and must not start. */
  prepare(request: LayerRequest): Promise<Layer> {
    return this.#queue.run(request.workload, () => this.#prepare(request));
  }

  /** Measures the files that a server added to the copy of the package. */
  async measure(workload: string): Promise<{ bytes: number; isEmpty: boolean; excess?: string | undefined }> {
    const record = await this.#record(workload);
    if (record === undefined) return { bytes: 0, isEmpty: true };
    const { content, own } = record;
    const { bytes, files, size, excess } = await this.#content(workload, own.length);
    const isEmpty = files === content.files && size === content.size;
    return { bytes: Math.max(0, bytes - content.bytes), isEmpty, excess };
  }

  async #content(workload: string, directories: number): Promise<LayerContent> {
    const total: LayerContent = { bytes: 0, files: 0, size: 0 };
    for (let index = 0; index < directories; index += 1) {
      const { bytes, files, size, excess } = await measureFiles(join(this.#path(workload), String(index)));
      total.bytes += bytes;
      total.files += files;
      total.size += size;
      total.excess ??= excess;
    }
    return total;
  }

  async remove(workload: string): Promise<void> {
    await removeTree(this.#path(workload));
  }

  async #prepare(request: LayerRequest): Promise<Layer> {
    const { workload, source, folder } = request;
    const known = await this.#record(workload);
    const isSame = known?.source === source;
    const notes = isSame ? [] : await this.#discard(workload, known, source);
    const record = isSame ? known : await this.#copy(request);
    if (isSame) notes.push(...(await this.#verify(request, record)));
    const place = this.#path(workload);
    const mounts = record.own.flatMap(({ path, inner }, index) => [
      { source: join(place, String(index)), path, readOnly: false },
      ...inner.map((name) => ({ source: join(folder, path, name), path: join(path, name), readOnly: true })),
    ]);
    return { mounts, notes };
  }

  /** Puts the program files back to the verified ones. Throws `conflict` instead if changes are refused. */
  async #verify({ workload, folder, refusesChanges }: LayerRequest, record: LayerRecord): Promise<string[]> {
    const place = this.#path(workload);
    const trash = join(place, 'trash');
    await removeTree(trash); // of an interrupted start
    const changed: string[] = [];
    for (const [index, { path, inner }] of record.own.entries()) {
      const layer = join(place, String(index));
      const stampOf = (file: string): string | undefined => record.stamps[join(String(index), file)];
      const found = await restoreProgram(
        { verified: join(folder, path), layer, inner, stampOf },
        { trash, isDry: refusesChanges },
      );
      changed.push(...found.map((file) => join(path, file)));
    }
    await removeTree(trash);
    if (changed.length === 0) return [];
    if (!refusesChanges)
      return [`the server had changed its own program, so ToolHive restored ${listed(changed)}`];
    throw conflict(`the server has changed its own program: ${listed(changed)}`, {
      hint: `check ${place}. To discard all files that the server stored beside its program, delete this directory. With tool_pinning warn, ToolHive restores the published files`,
    });
  }

  /** Copies the verified content. The record comes last, so that an interrupted copy counts as none. */
  async #copy({ workload, source, folder, install }: LayerRequest): Promise<LayerRecord> {
    const place = this.#path(workload);
    await mkdir(place, { recursive: true, mode: 0o700 });
    const own = (await ownDirectories(folder, install)) ?? [];
    const stamps: Record<string, string> = {};
    for (const [index, { path, inner }] of own.entries()) {
      const from = join(folder, path);
      const to = join(place, String(index));
      await cp(from, to, {
        recursive: true,
        verbatimSymlinks: true,
        mode: constants.COPYFILE_FICLONE,
        filter: (file) => basename(file) !== COMPILED && !inner.some((name) => file === join(from, name)),
      });
      for (const name of inner) await mkdir(join(to, name)); // where the read-only original is mounted
      for (const [file, stamp] of await stampsIn(to)) stamps[join(String(index), file)] = stamp;
    }
    const content = await this.#content(workload, own.length);
    const record = { source, own, content, stamps };
    const staged = join(place, `${RECORD}.new`);
    await writeFile(staged, JSON.stringify(record));
    await rename(staged, join(place, RECORD));
    return record;
  }

  /** Removes the layer of another version. Returns a note if the server had stored something there. */
  async #discard(workload: string, record: LayerRecord | undefined, source: string): Promise<string[]> {
    const { isEmpty } = await this.measure(workload);
    await this.remove(workload);
    if (record === undefined || isEmpty) return [];
    return [
      `the files that the server stored beside its program were discarded, because ${source} replaced ${record.source}`,
    ];
  }

  async #record(workload: string): Promise<LayerRecord | undefined> {
    const text = await readFile(join(this.#path(workload), RECORD), 'utf8').catch(() => '{}');
    try {
      return LayerRecord.safeParse(JSON.parse(text)).data;
    } catch {
      return undefined; // an interrupted write
    }
  }

  #path(workload: string): string {
    return join(this.#directory, workload);
  }
}

const MOST_LISTED = 5;

function listed(files: readonly string[]): string {
  const more = files.length - MOST_LISTED;
  return `${files.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more files` : ''}`;
}
