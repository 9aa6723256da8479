import * as z from 'zod';
import { operation } from '../operation.ts';
import {
  BulkClients,
  ClientName,
  ClientStatuses,
  CreateClient,
  CreatedClient,
  RegisteredClient,
} from '../schemas/client.ts';
import { GroupName } from '../schemas/names.ts';
import { ClientPreview } from '../schemas/preview.ts';

const byName = z.object({ name: ClientName.meta({ description: 'The name of the application.' }) });

export const clientOperations = {
  listClients: operation({
    method: 'GET',
    path: '/clients',
    tag: 'clients',
    summary: 'List registered client applications',
    success: {
      status: 200,
      description: 'The applications that are registered, with their groups.',
      body: z.array(RegisteredClient),
    },
    failures: [],
  }),
  previewClient: operation({
    method: 'GET',
    path: '/clients/{name}/preview',
    tag: 'clients',
    summary: 'Show how registering a client would change its configuration file',
    description: 'Changes nothing.',
    params: byName,
    query: z.object({
      group: GroupName.optional().meta({ description: 'The group; `default` if it is absent.' }),
    }),
    success: { status: 200, description: 'The change.', body: ClientPreview },
    failures: ['not-found'],
  }),
  createClient: operation({
    method: 'POST',
    path: '/clients',
    tag: 'clients',
    summary: 'Register a client application',
    description:
      'From now on its configuration file names the running workloads of the groups: of the default group when none is given. Everything else in that file stays as it is.',
    body: CreateClient,
    success: { status: 200, description: 'Registered, and its file written.', body: CreatedClient },
    failures: ['not-found', 'conflict'],
  }),
  deleteClient: operation({
    method: 'DELETE',
    path: '/clients/{name}',
    tag: 'clients',
    summary: 'Unregister a client application',
    description: 'Takes it out of every group, and all workloads out of its configuration file.',
    params: byName,
    success: { status: 204, description: 'It is registered nowhere.' },
    failures: ['conflict'],
  }),
  deleteClientFromGroup: operation({
    method: 'DELETE',
    path: '/clients/{name}/groups/{group}',
    tag: 'clients',
    summary: 'Take a client application out of a group',
    params: byName.extend({ group: GroupName.meta({ description: 'The name of the group.' }) }),
    success: { status: 204, description: 'It is not in the group.' },
    failures: ['not-found', 'conflict'],
  }),
  registerClients: operation({
    method: 'POST',
    path: '/clients/register',
    tag: 'clients',
    summary: 'Register client applications',
    description: 'Without groups, their files name the workloads of every group.',
    body: BulkClients,
    success: {
      status: 200,
      description: 'Registered, and their files written.',
      body: z.array(CreatedClient),
    },
    failures: ['not-found', 'conflict'],
  }),
  unregisterClients: operation({
    method: 'POST',
    path: '/clients/unregister',
    tag: 'clients',
    summary: 'Unregister client applications',
    description: 'From the groups that are given, or everywhere.',
    body: BulkClients,
    success: { status: 204, description: 'They are not registered there.' },
    failures: ['not-found', 'conflict'],
  }),
  discoverClients: operation({
    method: 'GET',
    path: '/discovery/clients',
    tag: 'discovery',
    summary: 'Find client applications',
    success: {
      status: 200,
      description:
        'Every application that ToolHive knows, whether it is installed, and whether it is registered.',
      body: ClientStatuses,
    },
    failures: [],
  }),
};
