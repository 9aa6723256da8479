import type { PackageScheme, PackageSource } from '../../source.ts';
import { goInstaller } from './go.ts';
import type { Install } from './install.ts';
import { npmInstaller } from './npm.ts';
import type { Workshop } from './tool.ts';
import { uvInstaller } from './uv.ts';

/** How the packages of one ecosystem get onto the machine without any of their code running. */
export interface Installer {
  /** Whether the source's version names one release for ever, so that an installed one needs no look-up. */
  isPinned(source: PackageSource): boolean;
  /**
   * Finds the release that the source means now; undefined where only installing it tells. May use `folder`
   * for scratch files.
   */
  resolve(source: PackageSource, folder: string, workshop: Workshop): Promise<string | undefined>;
  /** Installs into the empty folder, which is moved to another place afterwards. */
  install(source: PackageSource, folder: string, workshop: Workshop): Promise<Install>;
}

export const installers: Record<PackageScheme, Installer> = {
  npx: npmInstaller,
  uvx: uvInstaller,
  go: goInstaller,
};
