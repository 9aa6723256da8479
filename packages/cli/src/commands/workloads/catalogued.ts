import { ThvError } from '@toolhive/contract/failure';
import type { Client } from '@toolhive/contract/client';
import type { Need } from '@toolhive/pasted/pasted';
import { defaultRegistry } from '@toolhive/contract/names';

/** A registry entry that can run by name: its inputs, and whether it is remote. */
export interface Catalogued {
  name: string;
  isRemote: boolean;
  /** Whether the server is a bundle, which asks for values itself. */
  isBundle?: boolean;
  needs: Need[];
}

/** The registry entry that a word names. Undefined if the word means something else. */
export async function findCatalogued(
  word: string,
  { daemon, signal }: { daemon: Client; signal: AbortSignal },
): Promise<Catalogued | undefined> {
  if (word.includes('://')) return undefined;
  const params = { name: defaultRegistry, serverName: word };
  const found = await daemon.getRegistryServer({ params }, { signal }).catch((thrown: unknown) => {
    // An image, or an unknown name, which the daemon reports.
    if (thrown instanceof ThvError && (thrown.kind === 'not-found' || thrown.kind === 'invalid'))
      return undefined;
    throw thrown;
  });
  if (found === undefined) return undefined;
  const { server, remote_server: remote } = found;
  const variables = (server?.env_vars ?? []).map((need) => ({ kind: 'variable' as const, ...need }));
  const headers = (remote?.headers ?? []).map((need) => ({ kind: 'header' as const, ...need }));
  const places = (remote?.url_variables ?? []).map((need) => ({
    kind: 'placeholder' as const,
    required: true,
    secret: false,
    ...need,
  }));
  return {
    name: (server ?? remote)?.name ?? word,
    isRemote: server === undefined || server === null,
    isBundle: server?.image.startsWith('mcpb://') === true,
    needs: [...variables, ...headers, ...places],
  };
}
