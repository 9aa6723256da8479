import type { PackageScheme, PackageSource } from '../../source.ts';
import { installLocalGo } from './go.ts';
import type { Install } from './install.ts';
import { installLocalNpm } from './local-npm.ts';
import { installLocalUv } from './local-uv.ts';
import type { InstallContext } from './tool.ts';

/**
 * Installs a copy of a directory or file into the context's directory. The source version identifies the content. The
 * copy may be changed and moved.
 */
export type LocalInstaller = (
  source: PackageSource,
  context: InstallContext,
  copy: string,
) => Promise<Install>;

export const localInstallers: Record<PackageScheme, LocalInstaller> = {
  npx: installLocalNpm,
  uvx: installLocalUv,
  go: installLocalGo,
};
