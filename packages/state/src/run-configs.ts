import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RunConfig, runConfigVersion } from '@toolhive/contract/run-config';
import { withForwardedHeaders } from '@toolhive/contract/header-forward';
import { messageOf } from '@toolhive/contract/failure';
import { parseJson } from '@toolhive/contract/json-text';
import { WorkloadName } from '@toolhive/contract/names';
import type { Logger } from 'pino';
import { filesIn, readIfThere, removeFile, writeWhole } from './files.ts';
import { nameOfSetAside, setAside } from './set-aside.ts';
import { WorkloadId } from './workload-id.ts';

/** A run config as it is stored: with the ID of its workload, which is in no other place. */
export interface StoredRunConfig {
  id: WorkloadId;
  runConfig: RunConfig;
}

/** A run config on disk. Files of other programs and of earlier versions have no ID. */
type LoadedRunConfig = Partial<Pick<StoredRunConfig, 'id'>> & Pick<StoredRunConfig, 'runConfig'>;

/** An unreadable file that was moved away so that it affects nothing else. */
export interface SetAside {
  /** The name of its workload. */
  name: string;
  path: string;
  why: string;
  /** The ID of its workload, if the file contains one. */
  id?: WorkloadId | undefined;
}

const suffix = '.json';

/** The run configs on disk: the desired state, independent of the daemon. */
export class RunConfigs {
  readonly #directory: string;
  readonly #log: Logger;

  constructor(directory: string, log: Logger) {
    this.#directory = directory;
    this.#log = log;
  }

  /** Reads all run configs. Sets invalid files aside, with a name that is not read again. */
  async load(): Promise<{ runConfigs: LoadedRunConfig[]; setAside: SetAside[] }> {
    const runConfigs: LoadedRunConfig[] = [];
    const unmoved: SetAside[] = [];
    for (const file of await filesIn(this.#directory)) {
      if (!file.endsWith(suffix)) continue;
      const path = join(this.#directory, file);
      const name = file.slice(0, -suffix.length);
      try {
        runConfigs.push(parseRunConfig(name, (await readIfThere(path)) ?? ''));
      } catch (error) {
        const target = await setAside(path, error, this.#log);
        if (target === path) unmoved.push({ name, path, why: messageOf(error), id: await idIn(path) });
        // The file counts as set aside, with or without the reason.
        else await writeWhole(reasonPath(target), `${messageOf(error)}\n`).catch(() => {});
      }
    }
    return { runConfigs: withUniqueIds(runConfigs), setAside: [...(await this.#setAside()), ...unmoved] };
  }

  /** Everything that is set aside, from this start and earlier ones. */
  async #setAside(): Promise<SetAside[]> {
    const found = (await filesIn(this.#directory)).map(async (file): Promise<SetAside[]> => {
      const name = nameOfSetAside(file);
      if (name === undefined) return [];
      const path = join(this.#directory, file);
      const why = await readIfThere(reasonPath(path)).catch(() => undefined);
      return [{ name, path, why: why?.trim() ?? 'the file could not be read', id: await idIn(path) }];
    });
    return (await Promise.all(found)).flat();
  }

  async save(stored: StoredRunConfig): Promise<void> {
    await writeWhole(this.#path(stored.runConfig.name), textOf(stored));
  }

  /** Is the run config on disk the one with this mark? */
  async isSaved(name: string, mark: string): Promise<boolean> {
    const text = await readIfThere(this.#path(name));
    return text !== undefined && digestOf(text) === mark;
  }

  /** Removes a workload's run config, and the files that were set aside under its name. */
  async remove(name: string): Promise<void> {
    await removeFile(this.#path(name));
    for (const file of await filesIn(this.#directory)) {
      if (nameOfSetAside(file) !== name) continue;
      const path = join(this.#directory, file);
      await rm(path, { recursive: true, force: true }); // the path may be a directory
      await removeFile(reasonPath(path));
    }
  }

  #path(name: string): string {
    return join(this.#directory, `${name}${suffix}`);
  }
}

function reasonPath(setAsidePath: string): string {
  return `${setAsidePath}-why`;
}

/** What tells a run config that is saved from any other. */
export function markOf(stored: StoredRunConfig): string {
  return digestOf(textOf(stored));
}

/** The member of the file with the ID. Run configs in memory, and therefore exported ones, never have this member. */
const idKey = 'workload_id';

/** A run config without an ID, which no document may choose. */
export function withoutId<Value extends object>(runConfig: Value): Value {
  const { [idKey]: _id, ...others } = runConfig as Value & { [idKey]?: unknown };
  return others as unknown as Value; // the schema does not declare the member
}

function textOf({ id, runConfig }: StoredRunConfig): string {
  return `${JSON.stringify({ ...runConfig, [idKey]: id }, null, 2)}\n`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** How deep a run config may be nested. */
const maxDepth = 64;

function parseRunConfig(name: string, text: string): LoadedRunConfig {
  WorkloadName.parse(name);
  if (text.trim() === '') throw new Error('the file is empty');
  const value = parseJson(text, 'the file', { maxDepth });
  const parsed = RunConfig.safeParse(completed(value));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`${issue?.path.join('.') || 'the file'}: ${issue?.message ?? 'not a run config'}`);
  }
  // All other calls use the file's name.
  if (parsed.data.name !== name)
    throw new Error(`the file is named ${name}, but its workload ${parsed.data.name}`);
  const id = WorkloadId.safeParse(parsed.data[idKey]).data;
  return { runConfig: withForwardedHeaders(withoutId(parsed.data)), ...(id === undefined ? {} : { id }) };
}

/** A copied file contains the ID of another workload. An ID in several files belongs to none of them. */
function withUniqueIds(loaded: readonly LoadedRunConfig[]): LoadedRunConfig[] {
  const byId = Map.groupBy(loaded, ({ id }) => id);
  return loaded.map((one) => (byId.get(one.id)?.length === 1 ? one : { runConfig: one.runConfig }));
}

const idPattern = new RegExp(`"${idKey}": *"([^"]*)"`);

/** The ID in a file that is no run config, so that everything is still known when the user has repaired the file. */
async function idIn(path: string): Promise<WorkloadId | undefined> {
  const text = await readIfThere(path).catch(() => undefined); // the path may be a directory
  return WorkloadId.safeParse(idPattern.exec(text ?? '')?.[1]).data;
}

/** Fields that the first files, and some files of the original, do not have, because only one value was possible. */
function completed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const name: unknown = 'name' in value ? value.name : undefined;
  const added = { schema_version: runConfigVersion, base_name: name, container_name: name };
  const present = Object.entries(value).filter(([, field]) => field !== undefined && field !== '');
  const missing = Object.entries(added).filter(([key]) => !present.some(([own]) => own === key));
  return { ...value, ...Object.fromEntries(missing) };
}
