import { ThvError } from '@toolhive/contract/failure';
import type { Registry, RegistryServer } from '@toolhive/contract/registry';
import { parseSource } from '@toolhive/runtime/source';

/** A source without its version. Throws `invalid` for invalid text. */
export function serverOf(text = ''): string {
  const source = parseSource(text);
  if (source.kind === 'package') return `${source.scheme}://${source.name}`;
  return source.image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
}

/** The registry entry of a source, in whichever version. */
export function entryOf({ servers }: Registry, text = ''): (RegistryServer & { name: string }) | undefined {
  const server = serverOf(text);
  const found = Object.entries(servers).find(
    ([, { image, package: source }]) => isServer(image, server) || isServer(source?.source, server),
  );
  return found === undefined ? undefined : { ...found[1], name: found[0] };
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
