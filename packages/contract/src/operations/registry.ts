import * as z from 'zod';
import { operation } from '../operation.ts';
import { defaultRegistry } from '../schemas/names.ts';
import {
  Registries,
  RegistryDetails,
  RegistryServerDetails,
  RegistryServers,
  UpdateRegistry,
  UpdatedRegistry,
} from '../schemas/registry.ts';

const byName = z.object({
  name: z
    .string()
    .max(200)
    .meta({ description: `The name of the registry: ${defaultRegistry}.`, examples: [defaultRegistry] }),
});

export const registryOperations = {
  listRegistries: operation({
    method: 'GET',
    path: '/registry',
    tag: 'registry',
    summary: 'List registries',
    success: { status: 200, description: 'The registries, and where each comes from.', body: Registries },
    failures: [],
  }),
  addRegistry: operation({
    method: 'POST',
    path: '/registry',
    tag: 'registry',
    summary: 'Add a registry',
    description: 'There is one registry, and no second can be added. Its source can be changed instead.',
    success: { status: 204, description: 'Never answered.' },
    failures: ['not-implemented'],
  }),
  getRegistry: operation({
    method: 'GET',
    path: '/registry/{name}',
    tag: 'registry',
    summary: 'Read a registry',
    params: byName,
    success: { status: 200, description: 'The registry with everything in it.', body: RegistryDetails },
    failures: ['not-found'],
  }),
  updateRegistry: operation({
    method: 'PUT',
    path: '/registry/{name}',
    tag: 'registry',
    summary: 'Change where a registry comes from',
    description:
      'A URL, or a file on the machine of the daemon, or neither for the catalogue that comes with the product. The new source is read before anything is changed. Addresses of private networks are refused unless they are allowed.',
    params: byName,
    body: UpdateRegistry,
    success: { status: 200, description: 'The registry comes from there now.', body: UpdatedRegistry },
    failures: ['not-found'],
  }),
  deleteRegistry: operation({
    method: 'DELETE',
    path: '/registry/{name}',
    tag: 'registry',
    summary: 'Remove a registry',
    description: 'The default registry stays.',
    params: byName,
    success: { status: 204, description: 'The registry is gone.' },
    failures: ['not-found'],
  }),
  listRegistryServers: operation({
    method: 'GET',
    path: '/registry/{name}/servers',
    tag: 'registry',
    summary: 'List the servers of a registry',
    description:
      'Returns all servers by default. With limit and offset it returns one page; total is the number of servers on all pages.',
    params: byName,
    query: z.object({
      search: z.string().max(200).optional().meta({
        description: 'Only servers with all these words in their name, description, tags, or tools.',
      }),
      limit: z.coerce.number().int().min(1).max(10_000).optional().meta({ description: 'The page size.' }),
      offset: z.coerce.number().int().min(0).optional().meta({ description: 'The servers before the page.' }),
    }),
    success: { status: 200, description: 'Its servers, sorted by name.', body: RegistryServers },
    failures: ['not-found'],
  }),
  getRegistryServer: operation({
    method: 'GET',
    path: '/registry/{name}/servers/{serverName}',
    tag: 'registry',
    summary: 'Describe a server of a registry',
    params: byName.extend({
      serverName: z
        .string()
        .max(400)
        .meta({ description: 'The name of the server.', examples: ['fetch'] }),
    }),
    success: { status: 200, description: 'The server.', body: RegistryServerDetails },
    failures: ['not-found'],
  }),
};
