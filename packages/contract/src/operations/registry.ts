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
    .meta({ description: `The registry name, ${defaultRegistry}.`, examples: [defaultRegistry] }),
});

export const registryOperations = {
  listRegistries: operation({
    method: 'GET',
    path: '/registry',
    tag: 'registry',
    access: 'read',
    command: 'none',
    summary: 'List registries',
    success: { status: 200, description: 'The registries with their sources.', body: Registries },
    failures: [],
  }),
  addRegistry: operation({
    method: 'POST',
    path: '/registry',
    tag: 'registry',
    access: 'write',
    command: 'none',
    summary: 'Add a registry',
    description: 'Not supported, because there is exactly one registry. Change its source instead.',
    success: { status: 204, description: 'Never returned.' },
    failures: ['not-implemented'],
  }),
  getRegistry: operation({
    method: 'GET',
    path: '/registry/{name}',
    tag: 'registry',
    access: 'read',
    command: 'none',
    summary: 'Get a registry',
    params: byName,
    success: { status: 200, description: 'The registry with all entries.', body: RegistryDetails },
    failures: ['not-found'],
  }),
  updateRegistry: operation({
    method: 'PUT',
    path: '/registry/{name}',
    tag: 'registry',
    access: 'write',
    command: ['config set-registry'],
    summary: 'Change the source of a registry',
    description:
      'Sets a URL or a file on the machine of the daemon, or neither for the built-in registry. ToolHive reads the new source before it changes the setting, and refuses private addresses unless the request allows them.',
    params: byName,
    body: UpdateRegistry,
    success: { status: 200, description: 'The source is changed.', body: UpdatedRegistry },
    failures: ['not-found'],
  }),
  deleteRegistry: operation({
    method: 'DELETE',
    path: '/registry/{name}',
    tag: 'registry',
    access: 'write',
    command: 'none',
    summary: 'Remove a registry',
    description: 'The default registry cannot be removed.',
    params: byName,
    success: { status: 204, description: 'The registry is removed.' },
    failures: ['not-found'],
  }),
  listRegistryServers: operation({
    method: 'GET',
    path: '/registry/{name}/servers',
    tag: 'registry',
    access: 'read',
    command: ['registry list'],
    summary: 'List registry entries',
    description:
      'Returns all servers by default, or one page with `limit` and `offset`. `total` is the number of servers on all pages.',
    params: byName,
    query: z.object({
      search: z.string().max(200).optional().meta({
        description:
          'Only servers with all these words in their name, description, tags, or tools. Allows for typing errors if no server has them.',
      }),
      limit: z.coerce.number().int().min(1).max(10_000).optional().meta({ description: 'The page size.' }),
      offset: z.coerce
        .number()
        .int()
        .min(0)
        .optional()
        .meta({ description: 'The number of servers before the page.' }),
    }),
    success: {
      status: 200,
      description: 'The servers, sorted by name, or with a search by relevance.',
      body: RegistryServers,
    },
    failures: ['not-found'],
  }),
  getRegistryServer: operation({
    method: 'GET',
    path: '/registry/{name}/servers/{serverName}',
    tag: 'registry',
    access: 'read',
    command: ['registry info'],
    summary: 'Get a registry entry',
    params: byName.extend({
      serverName: z
        .string()
        .max(400)
        .meta({ description: 'The server name.', examples: ['fetch'] }),
    }),
    success: { status: 200, description: 'The server.', body: RegistryServerDetails },
    failures: ['not-found'],
  }),
};
