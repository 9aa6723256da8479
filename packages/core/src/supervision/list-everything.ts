import { McpClient } from '@toolhive/proxy/client';
import type { WorkloadProxy } from '@toolhive/proxy/proxy';

/** How long a server may take to list everything. */
const listingMs = 20_000;

export interface ListeningProxy {
  proxy: Pick<WorkloadProxy, 'ownConnections'>;
  host: string;
  port: number;
  /** ToolHive's version, for `clientInfo`. */
  version: string;
  /** Ends the request earlier. */
  ended?: AbortSignal;
}

/** Reads all lists of a server through its proxy, like a client, so that the proxy sees them. */
export async function listEverything({ proxy, host, port, version, ended }: ListeningProxy): Promise<void> {
  const limit = AbortSignal.timeout(listingMs);
  const signal = ended === undefined ? limit : AbortSignal.any([ended, limit]);
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const url = `http://${name.includes(':') ? `[${name}]` : name}:${port}/mcp`;
  await using client = await McpClient.connect({
    url,
    transport: 'streamable-http',
    open: () => proxy.ownConnections.open,
    version,
    signal,
  });
  for (const list of ['tools', 'prompts', 'resources', 'resourceTemplates', 'skills'] as const)
    await client.list(list, signal);
}
