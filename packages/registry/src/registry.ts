import type { Registry, RegistryServer } from '@toolhive/contract/registry';
import { formatSource, isLocalPath, parseSource } from '@toolhive/runtime/source';
import type { ServerSource } from '@toolhive/runtime/source';
import { notFound, unsupported } from '@toolhive/contract/failure';
import type { RuntimeCapabilities } from '@toolhive/runtime/runtime';
import { entryNamed, refuseMcpRegistryName } from './mcp-registry-name.ts';
import { entriesOf } from './server-of.ts';

type Runs = Pick<RuntimeCapabilities, 'runs'>;

/** The meaning of a user's word for a server. */
export interface Resolved {
  source: ServerSource;
  /** The registry's entry, if the word is the name of one. */
  entry?: RegistryServer & { name: string };
  /** The registry's entry about a package, if the word is the package. */
  described?: Description;
  /** Arguments for this way of running the server, which precede all others. */
  sourceArgs: string[];
  /** The requested image, if its package runs instead because no container engine is available. */
  insteadOf?: string;
}

/** A registry entry about a package that the user named by itself. */
export interface Description {
  entry: RegistryServer & { name: string };
  /** Whether the entry belongs to ToolHive. Others write all other registries. */
  isBuiltIn: boolean;
  /** Arguments for this way of running the server. */
  sourceArgs: string[];
}

/** The entry about a package. Undefined if there is none, or more than one. */
export function descriptionOf(registry: Registry, word: string, isBuiltIn: boolean): Description | undefined {
  const source = parseSource(word);
  if (source.kind !== 'package' || isLocalPath(source)) return undefined;
  const [entry, ...others] = entriesOf(registry, word);
  if (entry === undefined || others.length > 0) return undefined;
  return { entry, isBuiltIn, sourceArgs: entry.package?.args ?? [] };
}

/** Says that a package runs in place of the image that was asked for. */
export function packageNote(source: string, insteadOf: string): string {
  return `no container engine found: running ${source} instead of ${insteadOf}`;
}

/**
 * Resolves a word: a package URL stays itself, a registry entry's name becomes the entry's source for this runtime,
 * and anything else is a container image. Without a container engine, an entry's package replaces its image.
 */
export function resolveSource(registry: Registry, given: string, runtime: Runs): Resolved {
  if (given.includes('://')) return { source: parseSource(given), sourceArgs: [] };
  const word = entryNamed(registry, given);
  const entry = Object.hasOwn(registry.servers, word) ? registry.servers[word] : undefined;
  if (entry !== undefined) return resolveEntry({ ...entry, name: word }, runtime);
  refuseMcpRegistryName(registry, word);
  const source = parseSource(word);
  if (runtime.runs === 'packages')
    return packageOfImage(registry, source) ?? imageWithoutEngine(registry, word);
  return { source, sourceArgs: [] };
}

function resolveEntry(entry: RegistryServer & { name: string }, { runs }: Runs): Resolved {
  const source = parseSource(entry.image);
  if (runs === 'images' || source.kind !== 'image') return { source, entry, sourceArgs: [] };
  if (entry.package === undefined) {
    throw unsupported(
      `${entry.name} is only available as a container image, and no container engine was found`,
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
  const resolved = resolveEntry({ ...entry, name }, { runs: 'packages' });
  return { ...resolved, insteadOf: formatSource(image) };
}

function imageWithoutEngine(registry: Registry, word: string): never {
  const isBareName = !/[/:]/.test(word);
  const similar = Object.keys(registry.servers).find((name) => name.startsWith(word.slice(0, 3)));
  const meant = similar === undefined ? '' : `; did you mean ${similar}?`;
  throw isBareName
    ? notFound(`the registry has no server ${word}`, {
        hint: `for a package, use ${formatSource({ kind: 'package', scheme: 'npx', name: word })}${meant}`,
      })
    : unsupported(`${word} is a container image, and no container engine was found`, {
        hint: 'install Docker or Podman, or run the server as a package: npx://…, uvx://… or go://…',
      });
}
