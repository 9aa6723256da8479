import type { Registry } from '@toolhive/contract/registry';
import { notFound } from '@toolhive/contract/failure';

/** The name of a GitHub account's server in the MCP registry. It cannot be an image, because hosts do not have such names. */
const githubName = /^io\.github\.[\w-]+\/[\w.-]+$/i;

/** Whether a word is a name from the MCP registry that belongs to a GitHub account. */
export const isMcpRegistryName = (word: string): boolean => githubName.test(word);

/**
 * The name here of the entry that a word names: the word itself, or for a name from the MCP registry, the name of the only entry
 * that has exactly that name there. A local server precedes a remote one, as for all names.
 */
export function entryNamed({ servers, remote_servers }: Registry, word: string): string {
  if (!isMcpRegistryName(word)) return word;
  for (const entries of [servers, remote_servers]) {
    const named = Object.entries(entries).filter(
      ([, { custom_metadata: custom }]) => custom?.['registry_name'] === word,
    );
    const [key] = named[0] ?? [];
    if (key !== undefined && named.length === 1) return key;
    if (named.length > 1) break;
  }
  return word;
}

/**
 * Throws `not-found` for a name from the MCP registry that no entry, or more than one, has. Otherwise, a container engine would
 * look for a host of that name.
 */
export function refuseMcpRegistryName({ servers, remote_servers }: Registry, word: string): void {
  if (!isMcpRegistryName(word)) return;
  const short = word.slice(word.indexOf('/') + 1);
  const isKnown = Object.hasOwn(servers, short) || Object.hasOwn(remote_servers, short);
  const others =
    'this is a name in the MCP registry: run the package or image of the server, or use that registry with thv config set-registry https://registry.modelcontextprotocol.io';
  // The names of later registries of the original. Another account can have a server with the same short name.
  const hint = isKnown
    ? `if you mean the entry ${short} of this registry, run thv run ${short}. Otherwise, ${others}`
    : others;
  throw notFound(`the registry has no server ${word}`, { hint });
}
