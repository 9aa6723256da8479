import type { PackageContents, Release } from '../../runtime.ts';
import type { PackageScheme, PackageSource } from '../../source.ts';
import { isRepository } from '../../source.ts';
import { gitInstaller } from './git.ts';
import { goInstaller } from './go.ts';
import type { Install } from './install.ts';
import { npmInstaller } from './npm.ts';
import type { InstallContext } from './tool.ts';
import { uvInstaller } from './uv.ts';

/**
 * Installs the packages of one ecosystem. Tools run in sandboxes, where they run none of a package's code unless the
 * user allows it. A package's content never decides the server's access to the machine.
 */
export interface Installer {
  /** Whether the source's version names one immutable release, so that an installed one needs no lookup. */
  isPinned(source: PackageSource): boolean;
  /** Whether downloads and compiled files are kept for the next version of the same package. */
  keepsDownloads: boolean;
  /** Resolves the source to a release. Undefined if only an installation can resolve it. */
  resolve(source: PackageSource, context: InstallContext): Promise<string | undefined>;
  /** Finds the newest release of a source without a version. Undefined if only an installation can find it. */
  newest(source: PackageSource, context: InstallContext): Promise<Release | undefined>;
  /** Lists the content of an exact version, downloading only metadata. Undefined if that is impossible. */
  preview(source: PackageSource, context: InstallContext): Promise<PackageContents | undefined>;
  /** Installs into the empty folder of the context, which is moved to another place afterwards. */
  install(source: PackageSource, context: InstallContext): Promise<Install>;
}

/** The installer of a package: by its ecosystem, or from its repository. */
export const installerOf = (source: PackageSource): Installer =>
  isRepository(source) ? gitInstaller : installers[source.scheme];

const installers: Record<PackageScheme, Installer> = {
  npx: npmInstaller,
  uvx: uvInstaller,
  go: goInstaller,
};
