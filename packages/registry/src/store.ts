import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ThvError, cancelled, invalid, messageOf, notFound, unavailable } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import { defaultRegistry } from '@toolhive/contract/names';
import type {
  Registry,
  RegistryDetails,
  RegistryInfo,
  RegistryServerDetails,
  RegistryServers,
  UpdateRegistry,
  UpdatedRegistry,
} from '@toolhive/contract/registry';
import type { RuntimeCapabilities } from '@toolhive/runtime/runtime';
import type { Logger } from 'pino';
import type { SettingChange, SettingsFile } from '@toolhive/state/settings-file';
import { openBuiltIn } from './built-in.ts';
import { dropCopy } from './copy.ts';
import type { FetchOptions } from './fetch-registry.ts';
import { FileSource } from './file-source.ts';
import type { FileSourceOptions } from './file-source.ts';
import { entryNamed, isMcpRegistryName, refuseMcpRegistryName } from './mcp-registry-name.ts';
import { descriptionOf, resolveSource } from './registry.ts';
import type { Resolved } from './registry.ts';
import { LatestIndex } from './search.ts';
import type { FoundEntry } from './search.ts';
import type { Source } from './source.ts';
import { UrlSource } from './url-source.ts';
import type { UrlSourceOptions } from './url-source.ts';

/** The entries to list. By default, all. */
export interface ServersQuery {
  search?: string | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
}

export interface RegistryStoreOptions {
  settings: SettingsFile;
  /** The directory for copies of fetched registries. */
  cacheDir: string;
  log: Logger;
  /** Called when the entries, the source, or the problems have changed. */
  onChange: () => void;
  /** Replaced in tests. */
  fetch?: FetchOptions['fetch'];
  now?: () => Date;
}

type SettingKey = 'registry_url' | 'local_registry_path' | 'allow_private_registry_ip';

/** How many omitted entries are shown. Their total is reported as a number. */
const shownSkipped = 100;

/**
 * The registry, from the URL in `config.yaml`, or else the file there, or else the built-in content. If a source
 * cannot be read, its last content stays. Another source never replaces it.
 */
export class RegistryStore implements AsyncDisposable {
  readonly #options: RegistryStoreOptions;
  readonly #closing = new AbortController();
  #source: Source = openBuiltIn();
  readonly #updates = new SerialQueue();
  readonly #index = new LatestIndex();

  private constructor(options: RegistryStoreOptions) {
    this.#options = options;
  }

  /** Reads the file or the stored copy. The network is used only when the registry is first needed. */
  static async open(options: RegistryStoreOptions): Promise<RegistryStore> {
    const store = new RegistryStore(options);
    const { registry_url: url, local_registry_path: path } = options.settings.current;
    const allowPrivate = options.settings.current.allow_private_registry_ip === true;
    if (url) store.#source = await UrlSource.open(store.#urlOptions(url, allowPrivate));
    else if (path) store.#source = await FileSource.open(store.#fileOptions(path));
    return store;
  }

  /** The entries as they are known now. */
  get current(): Registry {
    return this.#source.state.registry;
  }

  /** Reads the source if necessary, and returns the entries. Undefined if the source has never been read. */
  async read(): Promise<Registry | undefined> {
    await this.#source.read();
    return this.#source.state.isUnread ? undefined : this.current;
  }

  /** Resolves a word, optionally in one group of the registry. Only words that can be entry names need the registry. */
  async resolve(word: string, runtime: Pick<RuntimeCapabilities, 'runs'>, group?: string): Promise<Resolved> {
    const canBeEntry = !/[/:]/.test(word) || isMcpRegistryName(word);
    if (group === undefined && canBeEntry) await this.#requireRead(word);
    const resolved = resolveSource(await this.catalogueFor(word, group), word, runtime);
    if (group !== undefined || !word.includes('://')) return resolved;
    // From the content that is known now: a package does not need the registry.
    const described = descriptionOf(this.current, word, this.#source.type === 'default');
    return described === undefined ? resolved : { ...resolved, described };
  }

  /** The entries for a lookup: those in a group, which must contain the word, or those outside groups. */
  async catalogueFor(word: string, group: string | undefined): Promise<Registry> {
    if (group === undefined) return this.current;
    await this.#requireRead(`${group}/${word}`);
    const found = this.current.groups?.find(({ name }) => name === group);
    if (found === undefined) throw notFound(`the registry has no group ${group}`);
    const { servers = {}, remote_servers = {} } = found;
    if (!Object.hasOwn(servers, word) && !Object.hasOwn(remote_servers, word)) {
      throw notFound(`the group ${group} of the registry has no server ${word}`);
    }
    return { ...this.current, servers, remote_servers };
  }

  async info(): Promise<RegistryInfo> {
    await this.#source.read();
    const { type, place, state } = this.#source;
    const { registry, problem, fetchedAt, isStale, skipped } = state;
    return {
      name: defaultRegistry,
      version: registry.version,
      last_updated: registry.last_updated,
      server_count: Object.keys(registry.servers).length,
      type,
      source: place,
      ...(problem === undefined ? {} : { problem }),
      ...(isStale ? { stale: true } : {}),
      ...(fetchedAt === undefined ? {} : { fetched_at: fetchedAt }),
      ...(skipped.length === 0
        ? {}
        : { skipped: skipped.slice(0, shownSkipped), skipped_count: skipped.length }),
    };
  }

  async details(): Promise<RegistryDetails> {
    return { ...(await this.info()), registry: this.current };
  }

  /** The entries by name, or the best matches of a search first. All, or one page of them. */
  async servers({ search = '', limit, offset = 0 }: ServersQuery = {}): Promise<RegistryServers> {
    await this.#source.read();
    const { current: registry } = this;
    const { servers, remote_servers: remote } = registry;
    const isSearch = search.trim() !== '';
    const all = isSearch ? await (await this.#index.of(registry)).search(search) : byName(registry);
    const page = all.slice(offset, limit === undefined ? undefined : offset + limit);
    return {
      servers: page.flatMap(({ name, isRemote }) => (isRemote ? [] : (servers[name] ?? []))),
      remote_servers: page.flatMap(({ name, isRemote }) => (isRemote ? (remote[name] ?? []) : [])),
      total: all.length,
      ...(isSearch ? { ranking: [...new Set(page.map(({ name }) => name))] } : {}),
    };
  }

  /** The entry with that name. A local server precedes a remote one. */
  async server(given: string): Promise<RegistryServerDetails> {
    await this.#requireRead(given);
    const name = entryNamed(this.current, given);
    const { servers, remote_servers } = this.current;
    if (Object.hasOwn(servers, name)) return { server: servers[name], is_remote: false };
    if (Object.hasOwn(remote_servers, name)) return { remote_server: remote_servers[name], is_remote: true };
    refuseMcpRegistryName(this.current, name);
    throw notFound(`the registry has no server ${name}`);
  }

  /** Reads the source again, even if the copy is recent. `info()` reports problems. */
  async refresh(): Promise<void> {
    await this.#source.refresh();
  }

  /** Changes the registry's source. Reads the new source first, and changes nothing if that fails. */
  async update(change: UpdateRegistry, signal?: AbortSignal): Promise<UpdatedRegistry> {
    const closing = this.#closing.signal;
    const either = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    return this.#updates.run(() => this.#update(change, either));
  }

  async #update(change: UpdateRegistry, signal: AbortSignal): Promise<UpdatedRegistry> {
    const { url, local_path: path, allow_private_ip: allowPrivate = false } = change;
    if (url && path) throw invalid('a registry has a URL or a file, not both');
    const source = await this.#prove(change, signal);
    try {
      await this.#options.settings.change(
        ...this.#setting('registry_url', url ? source.place : undefined),
        ...this.#setting('local_registry_path', path ? source.place : undefined),
        ...this.#setting('allow_private_registry_ip', url && allowPrivate ? true : undefined),
      );
    } catch (error) {
      await source[Symbol.asyncDispose]();
      throw error;
    }
    await this.#replace(source);
    const used = source.place === '' ? 'the built-in registry' : `the registry ${source.place}`;
    return { message: `ToolHive now uses ${used}`, type: source.type };
  }

  /** Reads a new source for the first time. A problem with the source is a problem with the request. */
  async #prove(change: UpdateRegistry, signal: AbortSignal): Promise<Source> {
    const { url, local_path: path, allow_private_ip: allowPrivate = false } = change;
    if (signal.aborted) throw cancelled('the registry is no longer wanted');
    try {
      if (url) return await UrlSource.prove(this.#urlOptions(url, allowPrivate), signal);
      return path ? await FileSource.prove(this.#fileOptions(path)) : openBuiltIn();
    } catch (error) {
      if (error instanceof ThvError && error.kind === 'cancelled') throw error;
      const isRefused = error instanceof ThvError && error.kind === 'forbidden';
      throw invalid(`cannot use this registry: ${messageOf(error)}`, {
        hint:
          isRefused && !allowPrivate
            ? 'if you trust the source, add --allow-private-ip (allow_private_ip)'
            : hintOf(error),
        problems: [{ pointer: url ? '/url' : '/local_path', detail: messageOf(error) }],
        cause: error,
      });
    }
  }

  async #replace(source: Source): Promise<void> {
    const { cacheDir, log, onChange } = this.#options;
    const old = this.#source;
    this.#source = source;
    await old[Symbol.asyncDispose]();
    if (old.type === 'url' && old.place !== source.place) {
      await dropCopy(cacheDir, old.place).catch((error: unknown) => {
        log.warn({ err: error }, 'the file is unused'); // the file is unused
      });
    }
    onChange();
  }

  /** Ensures that content is available, and that the word does not name an omitted entry. */
  async #requireRead(word: string): Promise<void> {
    await this.#source.read();
    const { isUnread, problem = 'the registry has not been read yet', skipped } = this.#source.state;
    if (isUnread) {
      throw unavailable(`the registry cannot be read: ${problem}`, {
        hint: 'to bypass the registry, use a complete image reference or a package URL',
      });
    }
    const entry = skipped.find(({ name }) => name === word);
    if (entry !== undefined) throw invalid(`the registry entry ${word} cannot be used: ${entry.why}`);
  }

  /** Sets or removes a key in the settings. Removing a missing key changes nothing. */
  #setting(key: SettingKey, value: string | boolean | undefined): SettingChange[] {
    const present = this.#options.settings.current[key] ?? undefined;
    return value === present ? [] : [[[key], value]];
  }

  #urlOptions(url: string, allowPrivate: boolean): UrlSourceOptions {
    const { cacheDir, log, onChange, fetch, now = () => new Date() } = this.#options;
    return { url, allowPrivate, cacheDir, log, onChange, fetch, now };
  }

  #fileOptions(path: string): FileSourceOptions {
    const { log, onChange, now = () => new Date() } = this.#options;
    return { path: absolutePath(path), log, onChange, now };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#updates.idle();
    await this.#source[Symbol.asyncDispose]();
  }
}

/** A path as people name files: also as a `file://` address, and also from where the daemon was started. */
function absolutePath(path: string): string {
  if (!path.startsWith('file://')) return resolve(path);
  const isWhole = path.startsWith('file:///') && URL.canParse(path) && !/%2f/i.test(path);
  return isWhole ? fileURLToPath(path) : resolve(path.slice('file://'.length));
}

function hintOf(error: unknown): string | undefined {
  return error instanceof ThvError ? error.hint : undefined;
}

function byName({ servers, remote_servers: remote }: Registry): FoundEntry[] {
  return [
    ...Object.keys(servers).map((name) => ({ name, isRemote: false })),
    ...Object.keys(remote).map((name) => ({ name, isRemote: true })),
  ].toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
}
