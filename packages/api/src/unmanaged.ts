import { ThvError } from '@toolhive/contract/failure';
import { clientApplications } from '@toolhive/contract/client-application';
import type { UnmanagedServers } from '@toolhive/contract/client-application';
import { isCredential, urlWithoutCredentials, withoutCredentials } from '@toolhive/contract/credential';
import { readEntry } from '@toolhive/pasted/entry-fields';
import type { Core } from '@toolhive/core/core';

/** Lists the servers that clients start or reach without ToolHive. */
export async function unmanagedServers({ clients }: Pick<Core, 'clients'>): Promise<UnmanagedServers> {
  const found: UnmanagedServers = { servers: [], problems: [] };
  for (const { id: client_type } of clientApplications) {
    const path = clients.pathOf(client_type);
    try {
      for (const { name, value } of await clients.unmanaged(client_type)) {
        const entry = readEntry(name, value);
        const { command = [], args = [], url } = entry;
        const words = [...(Array.isArray(command) ? command : [command]), ...args];
        // Built-in extensions of a client are neither started nor reached.
        if (words.length === 0 && url === undefined) continue;
        const settings = Object.entries({ ...entry.env, ...entry.headers });
        found.servers.push({
          client_type,
          path,
          name,
          ...(words.length > 0 ? { command: withoutCredentials(words) } : {}),
          ...(url === undefined ? {} : { url: urlWithoutCredentials(url) }),
          credentials: settings.flatMap(([key, text]) => (isCredential(key, text) ? [key] : [])),
        });
      }
    } catch (thrown) {
      if (!(thrown instanceof ThvError)) throw thrown;
      found.problems.push({ client_type, path, problem: thrown.message });
    }
  }
  return found;
}
