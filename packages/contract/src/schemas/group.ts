import * as z from 'zod';
import { ChosenTool, GroupName, groupEndpoints } from './names.ts';

export const GroupEndpoint = z.enum(Object.keys(groupEndpoints) as (keyof typeof groupEndpoints)[]);
export type GroupEndpoint = z.infer<typeof GroupEndpoint>;

const ChosenTools = z.array(ChosenTool).max(2_000);

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
    endpoint: GroupEndpoint.optional().meta({
      description:
        'The only endpoint that clients of the group get. `meta` finds and calls the tools of all workloads, and `combined` offers everything that they offer. Absent if clients get each workload.',
    }),
    tools: ChosenTools.optional().meta({
      description:
        'The tools that the combined endpoint offers, as `workload/tool`. Absent if it offers all tools.',
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

export const EndpointChoice = z.enum(['none', ...GroupEndpoint.options]).meta({
  description:
    'The only endpoint that clients of the group get: `meta` finds and calls the tools of all workloads, `combined` offers everything that they offer, and with `none`, clients get each workload.',
});

const ToolChoice = ChosenTools.meta({
  description:
    'The tools that the combined endpoint offers, as `workload/tool`, or `workload/*` for all tools of a workload. An empty list means all tools.',
});

export const CreateGroup = z
  .object({
    name: GroupName,
    description: GroupDescription.optional(),
    meta: MetaSwitch.optional(),
    endpoint: EndpointChoice.optional(),
    tools: ToolChoice.optional(),
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
    endpoint: EndpointChoice.optional(),
    tools: ToolChoice.optional(),
  })
  .meta({
    id: 'EditGroup',
    description: 'The changes of a group.',
    examples: [{ name: 'reading', description: 'Papers and notes' }],
  });
export type EditGroup = z.infer<typeof EditGroup>;

export const CreatedGroup = z
  .object({
    name: z.string(),
    description: z.string().optional(),
    meta: z.boolean().optional(),
    endpoint: EndpointChoice.optional(),
    tools: ToolChoice.optional(),
  })
  .meta({ id: 'CreatedGroup', description: 'A created group.', examples: [{ name: 'research' }] });
