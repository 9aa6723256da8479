import * as z from 'zod';
import { operation } from '../operation.ts';
import { CreateGroup, CreatedGroup, EditGroup, Group, Groups } from '../schemas/group.ts';
import { GroupName } from '../schemas/names.ts';
import { QueryFlag } from './query.ts';

const byName = z.object({ name: GroupName.meta({ description: 'The group name.' }) });

export const groupOperations = {
  listGroups: operation({
    method: 'GET',
    path: '/groups',
    tag: 'groups',
    access: 'read-items',
    command: ['group list'],
    summary: 'List groups',
    success: { status: 200, description: 'The groups, sorted by name.', body: Groups },
    failures: [],
  }),
  createGroup: operation({
    method: 'POST',
    path: '/groups',
    tag: 'groups',
    access: 'write',
    command: ['group create'],
    summary: 'Create a group',
    body: CreateGroup,
    success: { status: 201, description: 'The group is created.', body: CreatedGroup },
    failures: ['conflict'],
  }),
  getGroup: operation({
    method: 'GET',
    path: '/groups/{name}',
    tag: 'groups',
    access: 'read',
    command: 'none',
    summary: 'Describe a group',
    params: byName,
    success: { status: 200, description: 'The group.', body: Group },
    failures: ['not-found'],
  }),
  editGroup: operation({
    method: 'POST',
    path: '/groups/{name}/edit',
    tag: 'groups',
    access: 'write',
    command: 'none',
    summary: 'Change the name, the description, or the endpoint of a group',
    description:
      'Workloads stay in the group, and clients stay registered with the group. Running workloads are not restarted. The default group cannot be renamed.',
    params: byName,
    body: EditGroup,
    success: { status: 200, description: 'The changed group.', body: Group },
    failures: ['not-found', 'conflict'],
  }),
  deleteGroup: operation({
    method: 'DELETE',
    path: '/groups/{name}',
    tag: 'groups',
    access: 'write',
    command: ['group rm'],
    summary: 'Remove a group',
    description:
      'Moves its workloads to the default group, or removes them. The response follows when all changes are complete. The default group cannot be removed.',
    params: byName,
    query: z.object({
      'with-workloads': QueryFlag.optional().meta({
        description:
          '`true` also removes its workloads. By default, the workloads move to the default group.',
      }),
    }),
    success: { status: 204, description: 'The group is removed.' },
    failures: ['not-found'],
  }),
};
