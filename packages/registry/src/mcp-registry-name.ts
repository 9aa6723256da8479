import type { Registry } from '@toolhive/contract/registry';
import { notFound } from '@toolhive/contract/failure';

/** The name of a GitHub account's server in the MCP registry. It cannot be an image, because hosts do not have such names. */
const githubName = /^io\.github\.[\w-]+\/[\w.-]+$/i;

/**
 * Throws `not-found` for a name from the MCP registry, with the server's name here. Otherwise, a container engine would look for a
 * host of that name.
 */
export function refuseMcpRegistryName({ servers, remote_servers }: Registry, word: string): void {
  if (!githubName.test(word)) return;
  const [key] =
    [...Object.entries(servers), ...Object.entries(remote_servers)].find(
      ([, { custom_metadata: custom }]) => custom?.['registry_name'] === word,
    ) ?? [];
  const short = word.slice(word.indexOf('/') + 1);
  const isKnown = Object.hasOwn(servers, short) || Object.hasOwn(remote_servers, short);
  const others =
    'this is a name in the MCP registry: run the package or image of the server, or use that registry with thv config set-registry https://registry.modelcontextprotocol.io';
  // The names of later registries of the original. Another account can have a server with the same short name.
  const hint = isKnown
    ? `if you mean the entry ${short} of this registry, run thv run ${short}. Otherwise, ${others}`
    : others;
  throw notFound(`the registry has no server ${word}`, {
    hint: key === undefined ? hint : `its name in this registry is ${key}`,
  });
}
