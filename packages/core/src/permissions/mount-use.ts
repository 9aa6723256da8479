import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ThvError, messageOf } from '@toolhive/contract/failure';
import { KeyedSerialQueue } from '@toolhive/contract/serial-queue';
import { MountWatch } from '@toolhive/runtime/mount-watch';
import type { MountAccess } from '@toolhive/runtime/mount-watch';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import type { Logger } from 'pino';
import * as z from 'zod';
import { filesIn, readIfThere, writeWhole } from '../state/files.ts';
import { setAside } from '../state/set-aside.ts';

/** How one mount was used. */
const Use = z.object({
  read: z.boolean(),
  written: z.boolean(),
  /** The first files that were used, relative to the mount. */
  files: z.array(z.string()),
  /** The reason why accesses are missing. */
  gap: z.string().optional(),
});
type Use = z.infer<typeof Use>;
export type MountUsed = Readonly<Omit<Use, 'files'>> & { readonly files: readonly string[] };

/** The mounts of one workload by source, since learning mode began. */
const Uses = z.object({ since: z.string(), mounts: z.record(z.string(), Use) });
type Uses = z.infer<typeof Uses>;

interface MountUseOptions {
  /** Where the record of each workload is stored, in one file. */
  directory: string;
  env: NodeJS.ProcessEnv;
  log: Pick<Logger, 'error' | 'warn'>;
}

interface Observed {
  uses: Uses;
  watches: Map<string, MountWatch>;
  timer: NodeJS.Timeout | undefined;
}

const maxFiles = 20;
/** How soon changes are saved. After a crash, the next start of the server records most accesses again. */
const saveMs = 1_000;

/** Records which mounts servers use in learning mode. Accesses by other programs count, too. */
export class MountUse implements AsyncDisposable {
  readonly #options: MountUseOptions;
  readonly #observed = new Map<string, Observed>();
  readonly #turns = new KeyedSerialQueue();

  constructor(options: MountUseOptions) {
    this.#options = options;
  }

  /** Observes the mounts of a workload until `end`. A mount that cannot be observed is recorded as such. */
  async begin(workload: string, since: string, mounts: readonly PinnedMount[]): Promise<void> {
    if (mounts.length === 0) return;
    await this.#turns.run(workload, async () => {
      const observed = this.#observed.get(workload) ?? (await this.#load(workload, since));
      this.#observed.set(workload, observed);
      await Promise.all(mounts.map((mount) => this.#observe(workload, observed, mount)));
    });
  }

  /** Observes nothing of a workload any more, and keeps the record. */
  async end(workload: string): Promise<void> {
    await this.#turns.run(workload, async () => {
      const observed = this.#observed.get(workload);
      if (observed === undefined) return;
      this.#observed.delete(workload);
      clearTimeout(observed.timer);
      for (const watch of observed.watches.values()) watch[Symbol.dispose]();
      await this.#save(workload, observed);
    });
  }

  /** How the mounts of a workload were used, by source. Empty if nothing was recorded since then. */
  async of(workload: string, since: string): Promise<Readonly<Record<string, MountUsed>>> {
    const { uses } = this.#observed.get(workload) ?? (await this.#load(workload, since));
    return uses.since === since ? uses.mounts : {};
  }

  /** The workloads that something is recorded of. */
  async names(): Promise<string[]> {
    const files = await filesIn(this.#options.directory);
    return files.filter((file) => file.endsWith('.json')).map((file) => file.slice(0, -'.json'.length));
  }

  async remove(workload: string): Promise<void> {
    await this.end(workload);
    await rm(this.#path(workload), { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const workload of this.#observed.keys()) await this.end(workload);
  }

  async #observe(
    workload: string,
    observed: Observed,
    { source, pin, readOnly }: PinnedMount,
  ): Promise<void> {
    const use = (observed.uses.mounts[source] ??= { read: false, written: false, files: [] });
    const isKnown = (): boolean =>
      use.gap !== undefined || ((use.written || readOnly) && use.files.length >= maxFiles);
    if (observed.watches.has(source) || isKnown()) return;
    const saveSoon = (): void => {
      observed.timer ??= setTimeout(() => {
        observed.timer = undefined;
        void this.#save(workload, observed);
      }, saveMs).unref();
    };
    const lose = (gap: string): void => {
      use.gap = gap;
      observed.watches.delete(source);
      saveSoon();
    };
    try {
      const watch = await MountWatch.open(pin.path, this.#options.env, (access) => {
        if (count(use, access)) saveSoon();
        if (isKnown()) observed.watches.get(source)?.[Symbol.dispose]();
      });
      observed.watches.set(source, watch);
      void watch.ended.then((reason) => (reason === undefined ? undefined : lose(reason)));
    } catch (error) {
      const hint = error instanceof ThvError ? error.hint : undefined;
      lose(hint === undefined ? messageOf(error) : `${messageOf(error)}: ${hint}`);
    }
  }

  async #load(workload: string, since: string): Promise<Observed> {
    const uses = await this.#read(workload);
    return {
      uses: uses?.since === since ? uses : { since, mounts: {} },
      watches: new Map(),
      timer: undefined,
    };
  }

  async #read(workload: string): Promise<Uses | undefined> {
    try {
      const text = await readIfThere(this.#path(workload));
      return text === undefined ? undefined : Uses.parse(JSON.parse(text));
    } catch (error) {
      await setAside(this.#path(workload), error, this.#options.log);
      return undefined;
    }
  }

  async #save(workload: string, { uses }: Observed): Promise<void> {
    await writeWhole(this.#path(workload), `${JSON.stringify(uses, null, 2)}\n`).catch((error: unknown) =>
      this.#options.log.warn({ workload, err: error }, 'the use of its mounts could not be saved'),
    );
  }

  #path(workload: string): string {
    return join(this.#options.directory, `${workload}.json`);
  }
}

/** Adds an access. Returns whether it told anything new. */
function count(use: Use, { kind, path }: MountAccess): boolean {
  const isNewFile = path !== '' && use.files.length < maxFiles && !use.files.includes(path);
  if (isNewFile) use.files.push(path);
  const isNewKind = kind === 'read' ? !use.read : !use.written;
  if (kind === 'read') use.read = true;
  else use.written = true;
  return isNewFile || isNewKind;
}
