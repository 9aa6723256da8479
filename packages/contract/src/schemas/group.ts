import * as z from 'zod';
import { GroupName } from './names.ts';

/** A named set of workloads, and the clients that are registered with the group. */
export const Group = z
  .object({
    name: z.string(),
    description: z.string().optional().meta({ description: 'The purpose of the group.' }),
    registered_clients: z.array(z.string()).meta({ description: 'The registered clients.' }),
    meta: z.boolean().optional().meta({
      description:
        'True if clients of the group get only the meta server, which finds and calls the tools of all others.',
    }),
  })
  .meta({
    id: 'Group',
    description: 'A named set of workloads, and the clients that are registered with the group.',
    examples: [{ name: 'research', registered_clients: ['vscode', 'claude-code'] }],
  });
export type Group = z.infer<typeof Group>;

export const Groups = z
  .object({ groups: z.array(Group) })
  .meta({ id: 'Groups', description: 'The groups, sorted by name.' });

const GroupDescription = z
  .string()
  .max(500)
  .meta({ description: 'The purpose of the group, in at most 500 characters.' });

const MetaSwitch = z.boolean().meta({
  description:
    'Whether clients of the group get only the meta server, which finds and calls the tools of all other workloads in the group.',
});

export const CreateGroup = z
  .object({
    name: GroupName,
    description: GroupDescription.optional(),
    meta: MetaSwitch.optional(),
  })
  .meta({ id: 'CreateGroup', description: 'A group to create.', examples: [{ name: 'research' }] });

export type CreateGroup = z.infer<typeof CreateGroup>;

export const EditGroup = z
  .object({
    name: GroupName.optional().meta({ description: 'The new name. By default, the group keeps its name.' }),
    description: GroupDescription.optional().meta({
      description: 'The new description, empty for none. By default, the group keeps its description.',
    }),
    meta: MetaSwitch.optional(),
  })
  .meta({
    id: 'EditGroup',
    description: 'The changes of a group.',
    examples: [{ name: 'reading', description: 'Papers and notes' }],
  });
export type EditGroup = z.infer<typeof EditGroup>;

export const CreatedGroup = z
  .object({ name: z.string(), description: z.string().optional(), meta: z.boolean().optional() })
  .meta({ id: 'CreatedGroup', description: 'A created group.', examples: [{ name: 'research' }] });
