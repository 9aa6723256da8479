import { invalid } from '@toolhive/contract/failure';

/** The package that an installed program belongs to. */
export interface Owner {
  /** The source that ToolHive runs. */
  image: string;
  /** The name and version of the package, or its directory. */
  text: string;
}

/** An installed program. */
export interface Program {
  path: string;
  /** The path behind all links. */
  real: string;
  /** The first bytes. */
  beginning: string;
}

/** Throws `invalid` for a program from a place that only this machine knows. */
export function refuseUnpublished(program: string, name: string, hint: string): never {
  throw invalid(`${program} belongs to ${name}, which is not from a package registry`, { hint });
}
