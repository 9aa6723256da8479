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

const byName = z.object({ name: ClientName.meta({ description: 'The client name.' }) });

export const clientOperations = {
  listClients: operation({
    method: 'GET',
    path: '/clients',
    tag: 'clients',
    access: 'read',
    command: ['client list-registered'],
    summary: 'List registered clients',
    success: {
      status: 200,
      description: 'The registered clients, with their groups.',
      body: z.array(RegisteredClient),
    },
    failures: [],
  }),
  previewClient: operation({
    method: 'GET',
    path: '/clients/{name}/preview',
    tag: 'clients',
    access: 'read',
    command: 'none',
    summary: 'Preview the change of a configuration file by a registration',
    description: 'Changes nothing.',
    params: byName,
    query: z.object({
      group: GroupName.optional().meta({ description: 'The group, `default` by default.' }),
    }),
    success: { status: 200, description: 'The change.', body: ClientPreview },
    failures: ['not-found'],
  }),
  createClient: operation({
    method: 'POST',
    path: '/clients',
    tag: 'clients',
    access: 'write',
    command: 'none',
    summary: 'Register a client',
    description:
      "Adds the groups' running workloads to the client's configuration file, and keeps these entries up to date. Without groups, the default group. ToolHive does not change other parts of the file.",
    body: CreateClient,
    success: {
      status: 200,
      description: 'The client is registered, and its configuration file is updated.',
      body: CreatedClient,
    },
    failures: ['not-found', 'conflict'],
  }),
  deleteClient: operation({
    method: 'DELETE',
    path: '/clients/{name}',
    tag: 'clients',
    access: 'write',
    command: 'none',
    summary: 'Unregister a client',
    description: 'Removes the client from all groups, and removes all workloads from its configuration file.',
    params: byName,
    success: { status: 204, description: 'The client is not registered.' },
    failures: ['conflict'],
  }),
  deleteClientFromGroup: operation({
    method: 'DELETE',
    path: '/clients/{name}/groups/{group}',
    tag: 'clients',
    access: 'write',
    command: 'none',
    summary: 'Remove a client from a group',
    params: byName.extend({ group: GroupName.meta({ description: 'The group name.' }) }),
    success: { status: 204, description: 'The client is not in the group.' },
    failures: ['not-found', 'conflict'],
  }),
  registerClients: operation({
    method: 'POST',
    path: '/clients/register',
    tag: 'clients',
    access: 'write',
    command: ['client register'],
    summary: 'Register clients',
    description: 'Without groups, the configuration files contain the workloads of all groups.',
    body: BulkClients,
    success: {
      status: 200,
      description: 'The clients are registered, and their configuration files are updated.',
      body: z.array(CreatedClient),
    },
    failures: ['not-found', 'conflict'],
  }),
  unregisterClients: operation({
    method: 'POST',
    path: '/clients/unregister',
    tag: 'clients',
    access: 'write',
    command: ['client remove'],
    summary: 'Unregister clients',
    description: 'Removes the clients from the named groups, or from all groups.',
    body: BulkClients,
    success: { status: 204, description: 'The clients are not registered with these groups.' },
    failures: ['not-found', 'conflict'],
  }),
  discoverClients: operation({
    method: 'GET',
    path: '/discovery/clients',
    tag: 'discovery',
    access: 'read',
    command: ['client status'],
    summary: 'Find clients',
    success: {
      status: 200,
      description: 'All supported clients, and for each whether it is installed and registered.',
      body: ClientStatuses,
    },
    failures: [],
  }),
};
