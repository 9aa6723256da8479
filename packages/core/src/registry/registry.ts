import type { Registry, RegistryServer } from '@toolhive/contract/registry';
import { formatSource, parseSource } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import { notFound, unsupported } from '@toolhive/contract/failure';
import type { RuntimeName } from '@toolhive/runtime/runtime';

/** What a person's word for a server stands for. */
export interface Resolved {
  source: ServerSource;
  /** The registry's entry, if the word is the name of one. */
  entry?: RegistryServer & { name: string };
  /** Arguments that belong to this way of running it, before all others. */
  sourceArgs: string[];
  /** The image that was asked for, if its package runs because there is no container engine. */
  insteadOf?: string;
}

/** Says that a package runs in place of the image that was asked for. */
export function packageNote(source: string, insteadOf: string): string {
  return `there is no container engine here: running ${source} instead of ${insteadOf}`;
}

/**
 * Finds out what to run: a package URL is itself, the name of a registry entry is what the entry says for this
 * runtime, and anything else is taken for a container image. Without a container engine, the image of an entry that has
 * a package, too, is that package.
 */
export function resolveSource(registry: Registry, word: string, runtime: RuntimeName): Resolved {
  if (word.includes('://')) return { source: parseSource(word), sourceArgs: [] };
  const entry = Object.hasOwn(registry.servers, word) ? registry.servers[word] : undefined;
  if (entry !== undefined) return resolveEntry({ ...entry, name: word }, runtime);
  const source = parseSource(word);
  if (runtime === 'process') return packageOfImage(registry, source) ?? imageWithoutEngine(registry, word);
  return { source, sourceArgs: [] };
}

function resolveEntry(entry: RegistryServer & { name: string }, runtime: RuntimeName): Resolved {
  const source = parseSource(entry.image);
  if (runtime !== 'process' || source.kind === 'package') return { source, entry, sourceArgs: [] };
  if (entry.package === undefined) {
    throw unsupported(
      `${entry.name} comes as a container image only, and there is no container engine here`,
      {
        hint: 'install Docker or Podman, then run `thv runtime check`',
      },
    );
  }
  return { source: parseSource(entry.package.source), entry, sourceArgs: entry.package.args ?? [] };
}

function packageOfImage(registry: Registry, image: ServerSource): Resolved | undefined {
  const found = Object.entries(registry.servers).find(
    ([, entry]) =>
      entry.package !== undefined && formatSource(parseSource(entry.image)) === formatSource(image),
  );
  if (found === undefined) return undefined;
  const [name, entry] = found;
  const resolved = resolveEntry({ ...entry, name }, 'process');
  return { ...resolved, insteadOf: formatSource(image) };
}

function imageWithoutEngine(registry: Registry, word: string): never {
  const isBareName = !/[/:]/.test(word);
  const similar = Object.keys(registry.servers).find((name) => name.startsWith(word.slice(0, 3)));
  const meant = similar === undefined ? '' : `; did you mean ${similar}?`;
  throw isBareName
    ? notFound(`the registry has no server ${word}`, {
        hint: `name a package as ${formatSource({ kind: 'package', scheme: 'npx', name: word })} if that is what it is${meant}`,
      })
    : unsupported(`${word} is a container image, and there is no container engine here`, {
        hint: 'install Docker or Podman, or name the server as a package: npx://…, uvx://… or go://…',
      });
}
