import { type ThvError, notFound } from '@toolhive/contract/failure';
import type { PackageSource } from '../../source.ts';

/** The error for a package that its registry does not have. A dependency of the package is not the user's choice. */
export function packageNotFound(source: PackageSource, dependency?: string): ThvError {
  return dependency === undefined
    ? notFound(`package ${source.name} not found`, { hint: hintFor(source) })
    : notFound(`package ${dependency}, which ${source.name} depends on, not found`);
}

/** The error for a version that does not exist, of a package or of one of its dependencies. */
export function versionNotFound(source: PackageSource, version: string, dependency?: string): ThvError {
  if (dependency !== undefined)
    return notFound(
      `version ${version} of package ${dependency}, which ${source.name} depends on, not found`,
    );
  const hint = source.version === undefined ? {} : { hint: 'omit the version to get the newest one' };
  return notFound(`version ${version} of package ${source.name} not found`, hint);
}

/** Many servers are published for one language only, and their READMEs are copied without the command. */
function hintFor({ scheme, name }: PackageSource): string {
  const spelling = 'check the spelling';
  if (scheme === 'go') return `${spelling}. The path must be that of the main package`;
  if (scheme === 'uvx') return `${spelling}. If it is an npm package, use npx://${name}`;
  const isPrivate = `${spelling}. If the package is private, sign in with npm login`;
  return name.startsWith('@') ? isPrivate : `${isPrivate}. If it is a Python package, use uvx://${name}`;
}
