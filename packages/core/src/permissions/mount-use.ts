import { ThvError, messageOf } from '@toolhive/contract/failure';
import { raiseFault } from '@toolhive/contract/fault';
import { KeyedSerialQueue } from '@toolhive/contract/serial-queue';
import { MountWatch } from '@toolhive/runtime/mount-watch';
import type { MountAccess } from '@toolhive/runtime/mount-watch';
import type { PinnedMount } from '@toolhive/runtime/mount-source';
import type { Logger } from 'pino';
import * as z from 'zod';
import { WorkloadFiles } from '@toolhive/state/workload-files';
import type { WorkloadId } from '@toolhive/state/workload-id';

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
type MountUsed = Readonly<Omit<Use, 'files'>> & { readonly files: readonly string[] };
/** How the mounts of a workload were used, by source. */
export type MountUses = Readonly<Record<string, MountUsed>>;

/** The mounts of one workload by source, since learning mode began. */
const Uses = z.object({
  since: z.string(),
  /** True while more is being recorded, and after a daemon that was killed meanwhile. */
  isOpen: z.boolean(),
  mounts: z.record(z.string(), Use),
});
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
/** How soon changes are saved. A record that was not closed afterwards suggests nothing. */
const saveMs = 1_000;

/** Records which mounts servers use in learning mode. Accesses by other programs count, too. */
export class MountUse implements AsyncDisposable {
  readonly title = 'the used mounts';
  readonly #options: MountUseOptions;
  readonly #files: WorkloadFiles<typeof Uses>;
  readonly #observed = new Map<WorkloadId, Observed>();
  readonly #turns = new KeyedSerialQueue();

  constructor(options: MountUseOptions) {
    this.#options = options;
    this.#files = new WorkloadFiles({ ...options, schema: Uses });
  }

  /** Observes the mounts of a workload until `end`. A mount that cannot be observed is recorded as such. */
  async begin(workload: WorkloadId, since: string, mounts: readonly PinnedMount[]): Promise<void> {
    if (mounts.length === 0) return;
    await this.#turns.run(workload, async () => {
      const known = this.#observed.get(workload);
      if (known !== undefined && known.uses.since !== since) await this.#close(workload, known);
      const observed = this.#observed.get(workload) ?? (await this.#load(workload, since));
      this.#observed.set(workload, observed);
      observed.uses.isOpen = true;
      for (const { source } of mounts) useOf(observed, source);
      const unsaved = await this.#save(workload, observed);
      const bySource = Map.groupBy(mounts, ({ source }) => source);
      const observing = [...bySource].map(async ([source, same]) => {
        const isReadOnly = same.every(({ readOnly }) => readOnly);
        await this.#observe(workload, observed, { source, path: same[0]?.pin.path ?? source, isReadOnly });
        if (unsaved !== undefined) lose(observed, source, unsaved);
      });
      await Promise.all(observing);
    });
  }

  /** Observes nothing of a workload any more, and keeps the record. */
  async end(workload: WorkloadId): Promise<void> {
    await this.#turns.run(workload, async () => {
      const observed = this.#observed.get(workload);
      if (observed !== undefined) await this.#close(workload, observed);
    });
  }

  /** How the mounts of a workload were used, by source. Empty if nothing was recorded since then. */
  async of(workload: WorkloadId, since: string): Promise<MountUses> {
    const { uses } = this.#observed.get(workload) ?? (await this.#load(workload, since));
    return uses.since === since ? uses.mounts : {};
  }

  /** The workloads that something is recorded of. */
  ids(): Promise<WorkloadId[]> {
    return this.#files.ids();
  }

  async forget(workload: WorkloadId): Promise<void> {
    await this.end(workload);
    await this.#files.forget(workload);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const workload of this.#observed.keys()) await this.end(workload);
  }

  async #close(workload: WorkloadId, observed: Observed): Promise<void> {
    this.#observed.delete(workload);
    clearTimeout(observed.timer);
    for (const watch of observed.watches.values()) watch[Symbol.dispose]();
    observed.uses.isOpen = false;
    await this.#save(workload, observed);
  }

  async #observe(
    workload: WorkloadId,
    observed: Observed,
    { source, path, isReadOnly }: { source: string; path: string; isReadOnly: boolean },
  ): Promise<void> {
    const use = useOf(observed, source);
    const isKnown = (): boolean =>
      use.gap !== undefined || ((use.written || isReadOnly) && use.files.length >= maxFiles);
    if (observed.watches.has(source) || isKnown()) return;
    const losing = (gap: string): void => {
      lose(observed, source, gap);
      this.#saveSoon(workload, observed);
    };
    try {
      const watch = await MountWatch.open(path, this.#options.env, (access) => {
        if (count(use, access)) this.#saveSoon(workload, observed);
        if (isKnown()) observed.watches.get(source)?.[Symbol.dispose]();
      });
      observed.watches.set(source, watch);
      watch.ended.then((reason) => (reason === undefined ? undefined : losing(reason))).catch(raiseFault);
    } catch (error) {
      const hint = error instanceof ThvError ? error.hint : undefined;
      losing(hint === undefined ? messageOf(error) : `${messageOf(error)}: ${hint}`);
    }
  }

  #saveSoon(workload: WorkloadId, observed: Observed): void {
    observed.timer ??= setTimeout(() => {
      observed.timer = undefined;
      const save = () =>
        this.#observed.get(workload) === observed ? this.#save(workload, observed) : undefined;
      this.#turns.run(workload, save).catch(raiseFault);
    }, saveMs).unref();
  }

  async #load(workload: WorkloadId, since: string): Promise<Observed> {
    const stored = await this.#files.read(workload);
    const uses = stored?.since === since ? stored : { since, isOpen: false, mounts: {} };
    const observed: Observed = { uses, watches: new Map(), timer: undefined };
    if (uses.isOpen)
      for (const source of Object.keys(uses.mounts))
        lose(observed, source, 'the daemon ended unexpectedly, so accesses may be missing');
    return observed;
  }

  /** Returns the problem if the record could not be saved. */
  async #save(workload: WorkloadId, { uses }: Observed): Promise<string | undefined> {
    try {
      await this.#files.write(workload, uses);
      return undefined;
    } catch (error) {
      this.#options.log.warn({ workload, err: error }, 'the use of its mounts could not be saved');
      return messageOf(error);
    }
  }
}

const useOf = ({ uses }: Observed, source: string): Use =>
  (uses.mounts[source] ??= { read: false, written: false, files: [] });

/** Remembers why accesses to a mount are missing. The first reason stays. */
function lose(observed: Observed, source: string, gap: string): void {
  useOf(observed, source).gap ??= gap;
  observed.watches.get(source)?.[Symbol.dispose]();
  observed.watches.delete(source);
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
