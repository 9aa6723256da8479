import { join } from 'node:path';
import { invalid } from '@toolhive/contract/failure';
import { readProjectFile } from './project-file.ts';

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

const maxBytesTogether = 64 * 1024 * 1024;

/** Reads small files, and only so much of them together, because a directory can come from others. */
export class Contents {
  #leftBytes = maxBytesTogether;

  /** Returns the text, or an empty text for a missing or larger file. */
  of(folder: string, name: string): string {
    try {
      const text = readProjectFile(join(folder, name));
      this.#leftBytes -= text.length;
      return this.#leftBytes < 0 ? '' : text;
    } catch {
      return '';
    }
  }
}
