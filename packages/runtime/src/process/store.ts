import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ThvError, notFound, unsupported } from '@toolhive/contract/failure';
import { SerialQueue } from '@toolhive/contract/serial-queue';
import type { SourcePin } from '../mount-source.ts';
import type { PackageContents, PrepareOptions, Release } from '../runtime.ts';
import {
  type BundleSource,
  type InstallableSource,
  type PackageOptions,
  type PackageSource,
  formatSource,
  isLocalPath,
} from '../source.ts';
import type { Machine } from './check.ts';
import { type Install, installFile, packageFolder, parseInstall } from './installers/install.ts';
import type { Installer } from './installers/installers.ts';
import type { InstallContext } from './installers/tool.ts';
import { certificateBundle } from '../trust.ts';
import { copyLocal } from './local-source.ts';
import { Places } from './places.ts';
import { SingleFlight } from './single-flight.ts';

export interface StoreOptions {
  daemonId: string;
  cacheDir: string;
  /** The directory with the user's bundles. */
  bundlesDir: string;
  /** For sockets. */
  tempDir: string;
  env: NodeJS.ProcessEnv;
}

/** A package on this machine, ready to start. */
export interface InstalledPackage {
  folder: string;
  install: Install;
}

/**
 * The package cache: `<scheme>/<name>/<version>/`. Each directory is created elsewhere and then moved into place, so
 * it is always complete, even if another daemon installs the same package at the same time.
 */
export class PackageStore {
  readonly #options: StoreOptions;
  readonly #machine: () => Promise<Machine>;
  /** The daemon's unfinished installations. */
  readonly #staging: string;
  readonly #flights = new SingleFlight<InstallableSource>();
  /** Packages that are installed at the same time share the network, and slow registries then answer too late. */
  readonly #places = new Places(INSTALLATIONS);
  /** One after the other: each of them starts programs. */
  readonly #lookUps = new SerialQueue();

  /** `machine` throws if no sandbox can run here: then nothing is installed either. */
  constructor(options: StoreOptions, machine: () => Promise<Machine>) {
    this.#options = options;
    this.#machine = machine;
    this.#staging = join(options.cacheDir, '.staging', fileName(options.daemonId));
  }

  /** Resolves the source, installs it if necessary, and returns it with its exact version. */
  prepare(source: InstallableSource, options: PrepareOptions): Promise<InstallableSource> {
    const { trusted, allowedSources, inspect, granted } = options;
    return this.#flights.do(
      `${formatSource(source)} ${optionsMark(source)} ${JSON.stringify(granted)}`,
      (shared) => this.#prepare(source, { ...shared, trusted, allowedSources, inspect, granted }),
      options,
    );
  }

  /** Finds the newest release of a package. Throws `unsupported` if only an installation can find it. */
  async newest(source: PackageSource, options: PrepareOptions): Promise<Release> {
    const { installerOf } = await import('./installers/installers.ts');
    const installer = installerOf(source);
    const { version: _, ...unversioned } = source;
    const find = (context: InstallContext): Promise<Release | undefined> =>
      installer.newest(unversioned, context);
    const release = isLocalPath(source) ? undefined : await this.#lookUp(source, installer, options, find);
    if (release !== undefined) return release;
    throw unsupported(`the newest version of ${formatSource(source)} cannot be looked up`);
  }

  /** Lists the content of an exact version. Undefined if only an installation can find it. */
  async preview(source: PackageSource, options: PrepareOptions): Promise<PackageContents | undefined> {
    const { installerOf } = await import('./installers/installers.ts');
    const installer = installerOf(source);
    return this.#lookUp(source, installer, options, (context) => installer.preview(source, context));
  }

  #lookUp<Result>(
    source: PackageSource,
    installer: Installer,
    options: PrepareOptions,
    work: (context: InstallContext) => Promise<Result>,
  ): Promise<Result> {
    return this.#lookUps.run(() => {
      options.signal.throwIfAborted();
      return this.#staged(source, installer, options, work);
    });
  }

  /** The installed package of a source that `prepare` returned. */
  async require(source: InstallableSource): Promise<InstalledPackage> {
    const found = await this.#find(source);
    if (found !== undefined) return found;
    throw notFound(`${formatSource(source)} is not installed`, { hint: 'prepare it first' });
  }

  /** What was downloaded for an installed package, if that was recorded. */
  async contents(source: InstallableSource): Promise<PackageContents | undefined> {
    return (await this.#find(source))?.install.contents;
  }

  /** Removes the remains of this daemon's interrupted installations. */
  async sweep(): Promise<void> {
    await remove(this.#staging);
  }

  async #prepare(source: InstallableSource, options: PrepareOptions): Promise<InstallableSource> {
    if (source.kind === 'bundle') return this.#prepareBundle(source, options);
    const { report, granted } = options;
    // Loaded with the first package, because the libraries use megabytes of an idle daemon's memory.
    const { installerOf } = await import('./installers/installers.ts');
    const installer = installerOf(source);
    const isLocal = isLocalPath(source);
    if (!isLocal && installer.isPinned(source) && (await this.#find(source)) !== undefined) return source;
    try {
      const install = (): Promise<PackageSource> =>
        this.#staged(source, installer, options, (context, staged) =>
          isLocal
            ? this.#installLocal(source, staged, context, granted)
            : this.#install(installer, source, staged, context),
        );
      return await this.#places.run(() => onceMore(install, options), options);
    } catch (error) {
      const fallback = await this.#newest(source);
      if (fallback === undefined || !(error instanceof ThvError && error.kind === 'unavailable')) throw error;
      report(`${error.message}: using ${source.name} ${fallback}, which is installed already`);
      return { ...source, version: fallback };
    }
  }

  /** The content of a bundle never changes, so an installed one needs nothing else. */
  async #prepareBundle(source: BundleSource, options: PrepareOptions): Promise<BundleSource> {
    if ((await this.#find(source)) !== undefined) return source;
    const { installBundle } = await import('./installers/bundle.ts');
    const { bundlesDir } = this.#options;
    const install = (): Promise<BundleSource> =>
      this.#staged(source, { keepsDownloads: false }, options, (context, staged) => {
        context.report(`installing ${source.name}`);
        return this.#finish(source, staged, context, () => installBundle(source, context, bundlesDir));
      });
    return this.#places.run(() => onceMore(install, options), options);
  }

  /**
   * Runs work with an empty directory and the installers' context. Removes the directory afterwards, unless it was
   * moved.
   */
  async #staged<Result>(
    source: InstallableSource,
    installer: Pick<Installer, 'keepsDownloads'>,
    { report, signal, trusted, allowedSources, inspect }: PrepareOptions,
    work: (context: InstallContext, staged: string) => Promise<Result>,
  ): Promise<Result> {
    const { cacheDir, env } = this.#options;
    await mkdir(this.#staging, { recursive: true, mode: 0o700 });
    const staged = await mkdtemp(`${this.#staging}/`);
    const folder = join(staged, packageFolder);
    const downloads =
      installer.keepsDownloads || isLocalPath(source)
        ? join(cacheDir, '.downloads', source.scheme, fileName(source.name))
        : join(staged, 'downloads');
    await Promise.all([folder, downloads].map((path) => mkdir(path, { recursive: true, mode: 0o700 })));
    const [background, over] = [new Set<Promise<unknown>>(), new AbortController()];
    try {
      const context: InstallContext = {
        env,
        machine: await this.#machine(),
        place: this.#options,
        folder,
        downloads,
        cacheDir,
        certificates: await certificateBundle(env, await trusted?.()),
        isFirst: (await readdir(shelfIn(cacheDir, source)).catch(() => [])).length === 0,
        background,
        allowed: (await allowedSources?.()) ?? [],
        inspect: async (found, contents) => inspect?.(found, contents, { report, signal }),
        report,
        signal: AbortSignal.any([signal, over.signal]),
      };
      return await work(context, staged);
    } finally {
      over.abort();
      await Promise.allSettled(background);
      await remove(staged);
    }
  }

  async #install(
    installer: Installer,
    source: PackageSource,
    staged: string,
    context: InstallContext,
  ): Promise<PackageSource> {
    let wanted = source;
    if (!installer.isPinned(source)) {
      context.report(`resolving ${source.name}`);
      const version = await installer.resolve(source, context);
      if (version !== undefined) wanted = { ...source, version };
      if (version !== undefined && (await this.#find(wanted)) !== undefined) return wanted;
    }
    context.report(`installing ${source.name} ${wanted.version ?? ''}`.trimEnd());
    return this.#finish(source, staged, context, () => installer.install(wanted, context));
  }

  /** Looks at the files of a local package, and installs them unless these very files are installed. */
  async #installLocal(
    source: PackageSource,
    staged: string,
    context: InstallContext,
    granted: SourcePin | undefined,
  ): Promise<PackageSource> {
    const { localInstallers } = await import('./installers/local.ts');
    const copy = join(staged, 'copy');
    await mkdir(copy);
    const version = await copyLocal(source, copy, { granted, signal: context.signal });
    const wanted = { ...source, version };
    if ((await this.#find(wanted)) !== undefined) return wanted;
    context.report(`installing ${source.name}`);
    const installed = await this.#finish(source, staged, context, async () => {
      const install = await localInstallers[source.scheme](wanted, context, copy);
      await remove(copy);
      return install;
    });
    await removeOld(shelfIn(this.#options.cacheDir, source));
    return installed;
  }

  async #finish<Source extends InstallableSource>(
    source: Source,
    staged: string,
    { report }: InstallContext,
    run: () => Promise<Install>,
  ): Promise<Source> {
    const began = performance.now();
    const install = await run();
    const installed = { ...source, version: install.version };
    await writeFile(join(staged, installFile), `${JSON.stringify(install, null, 2)}\n`);
    await this.#moveIn(staged, installed);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const version = isLocalPath(source) || source.kind === 'bundle' ? '' : ` ${install.version}`;
    report(`installed ${source.name}${version} in ${seconds} s`);
    return installed;
  }

  async #moveIn(folder: string, source: InstallableSource): Promise<void> {
    const place = folderIn(this.#options.cacheDir, source);
    await mkdir(shelfIn(this.#options.cacheDir, source), { recursive: true });
    if ((await this.#find(source)) !== undefined) return;
    try {
      await rename(folder, place);
    } catch (error) {
      if ((await this.#find(source)) !== undefined) return; // another daemon was faster
      // Whatever lies there is no installation of ours. It goes the way of everything in the staging folder.
      await rename(place, `${folder}.replaced`).catch(() => Promise.reject(error));
      await rename(folder, place);
      await remove(`${folder}.replaced`);
    }
  }

  async #find(source: InstallableSource): Promise<InstalledPackage | undefined> {
    if (source.version === undefined) return undefined;
    const folder = folderIn(this.#options.cacheDir, source);
    const install = await readInstall(folder);
    return install === undefined ? undefined : { folder: join(folder, packageFolder), install };
  }

  /** The newest installed version, for a source that does not insist on one. */
  async #newest(source: PackageSource): Promise<string | undefined> {
    // Other options may need other versions, and commits have no order.
    if (isLocalPath(source) || source.git !== undefined || optionsMark(source) !== '') return undefined;
    if ((source.version ?? 'latest') !== 'latest') return undefined;
    const parent = shelfIn(this.#options.cacheDir, source);
    const entries = (await readdir(parent).catch(() => [])).filter((entry) => !entry.includes('~'));
    const installs = await Promise.all(entries.map((entry) => readInstall(join(parent, entry))));
    return installs
      .flatMap((install) => install?.version ?? [])
      .toSorted(compareVersions)
      .at(-1);
  }
}

/** Each change of a local package is another installation: only the newest are kept, for servers that still run. */
async function removeOld(shelf: string): Promise<void> {
  const entries = await readdir(shelf).catch(() => []);
  const aged = await Promise.all(
    entries.map(async (entry) => {
      const found = await stat(join(shelf, entry, installFile)).catch(() => undefined);
      return { entry, at: found?.mtimeMs ?? 0 };
    }),
  );
  const old = aged.toSorted((a, b) => b.at - a.at).slice(KEPT_CHANGES);
  await Promise.all(old.map(({ entry }) => remove(join(shelf, entry))));
}

/** Where all versions of a package lie. The same bundle can come from several places. */
const shelfIn = (cacheDir: string, { kind, scheme, name }: InstallableSource): string =>
  kind === 'bundle' ? join(cacheDir, scheme) : join(cacheDir, scheme, fileName(name));

const folderIn = (cacheDir: string, source: InstallableSource): string =>
  join(shelfIn(cacheDir, source), fileName(`${source.version ?? ''}${optionsMark(source)}`));

async function readInstall(folder: string): Promise<Install | undefined> {
  return parseInstall(await readFile(join(folder, installFile), 'utf8').catch(() => ''));
}

/** A release is newer than its pre-releases. Otherwise the numbers decide, from left to right. */
export function compareVersions(a: string, b: string): number {
  const [releaseA = '', preA = '\uffff'] = a.split(/-(.*)/s);
  const [releaseB = '', preB = '\uffff'] = b.split(/-(.*)/s);
  const inOrder = new Intl.Collator('en', { numeric: true });
  return inOrder.compare(releaseA, releaseB) || inOrder.compare(preA, preB);
}

/** Keeps installations with different options apart. */
function optionsMark(source: InstallableSource): string {
  const { extras, program, git }: Partial<PackageSource> = source.kind === 'bundle' ? {} : source;
  const options: PackageOptions | undefined = source.options;
  const parts = Object.entries({
    extras,
    program,
    ref: git?.ref,
    subdirectory: git?.subdirectory,
    until: options?.excludeNewer,
    prerelease: options?.prerelease,
  });
  const chosen = parts.filter(([, value]) => value !== undefined);
  if (options === undefined && chosen.length === 0) return '';
  const { with: others = [], python = '', allowScripts = [] } = options ?? {};
  // Like the marks of earlier versions, as far as those have the same options.
  const text = JSON.stringify([others.toSorted(), python, allowScripts.toSorted(), ...chosen]);
  return `~${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

/** Repeats the whole installation once if the registry answered too late or not completely. */
async function onceMore<Result>(
  install: () => Promise<Result>,
  { report, signal }: Pick<PrepareOptions, 'report' | 'signal'>,
): Promise<Result> {
  try {
    return await install();
  } catch (error) {
    const { isTransient } = await import('./installers/registry-failure.ts');
    if (!isTransient(error) || signal.aborted) throw error;
    report(`${error.message}: trying again`);
    return install();
  }
}

const INSTALLATIONS = 3;

const KEPT_CHANGES = 5;

const LONGEST_NAME = 200;

/** A name from outside as the name of one file: no separators, nothing special, not too long. */
function fileName(name: string): string {
  const encoded = encodeURIComponent(name).replace(/^\./, '%2E');
  if (encoded.length <= LONGEST_NAME) return encoded;
  return createHash('sha256').update(name).digest('hex');
}

const remove = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 5 });
