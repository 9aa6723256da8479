import type { PackageContents, Release } from '../../runtime.ts';
import type { PackageScheme, PackageSource } from '../../source.ts';
import { goInstaller } from './go.ts';
import type { Install } from './install.ts';
import { npmInstaller } from './npm.ts';
import type { InstallContext } from './tool.ts';
import { uvInstaller } from './uv.ts';

/**
 * How the packages of one ecosystem get onto the machine. Tools run in sandboxes, and none of a package's code is
 * meant to run even there; and nothing that a package contains decides what its server gets of the machine.
 */
export interface Installer {
  /** Whether the source's version names one release for ever, so that an installed one needs no look-up. */
  isPinned(source: PackageSource): boolean;
  /** Whether what was downloaded and compiled is kept for the next version of the same package. */
  keepsDownloads: boolean;
  /** Finds the release that the source means now; undefined where only installing it tells. */
  resolve(source: PackageSource, context: InstallContext): Promise<string | undefined>;
  /** Finds the newest release of a source without a version; undefined where only installing it tells. */
  newest(source: PackageSource, context: InstallContext): Promise<Release | undefined>;
  /** Finds out what an exact version would consist of, and downloads only metadata; undefined where that cannot be. */
  preview(source: PackageSource, context: InstallContext): Promise<PackageContents | undefined>;
  /** Installs into the empty folder of the context, which is moved to another place afterwards. */
  install(source: PackageSource, context: InstallContext): Promise<Install>;
}

export const installers: Record<PackageScheme, Installer> = {
  npx: npmInstaller,
  uvx: uvInstaller,
  go: goInstaller,
};
