import { ThvError } from '@toolhive/contract/failure';
import type { Registry, RegistryServer } from '@toolhive/contract/registry';
import { formatSource, parseSource } from '@toolhive/runtime/source';

/** A source without its version. Throws `invalid` for invalid text. */
export function serverOf(text = ''): string {
  const source = parseSource(text);
  if (source.kind === 'package') return `${source.scheme}://${source.name}`;
  if (source.kind === 'bundle') return formatSource({ ...source, version: undefined });
  return source.image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
}

type Entry = RegistryServer & { name: string };

/** The registry entry of a source, in whichever version. */
export function entryOf(registry: Registry, text = ''): Entry | undefined {
  return entriesOf(registry, text)[0];
}

/** All registry entries of a source. */
export function entriesOf({ servers }: Registry, text = ''): Entry[] {
  const server = serverOf(text);
  return Object.entries(servers).flatMap(([name, entry]) =>
    isServer(entry.image, server) || isServer(entry.package?.source, server) ? [{ ...entry, name }] : [],
  );
}

/** A registry can contain sources that cannot be read. */
function isServer(text: string | undefined, server: string): boolean {
  try {
    return text !== undefined && serverOf(text) === server;
  } catch (error) {
    if (error instanceof ThvError) return false;
    throw error;
  }
}
