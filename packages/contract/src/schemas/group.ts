import * as z from 'zod';
import { GroupName } from './names.ts';

/** Workloads that belong together, and the client applications that see them. */
export const Group = z
  .object({
    name: z.string(),
    registered_clients: z
      .array(z.string())
      .meta({ description: 'The client applications whose files name its workloads.' }),
  })
  .meta({
    id: 'Group',
    description: 'Workloads that belong together, and the client applications that see them.',
    examples: [{ name: 'research', registered_clients: ['vscode', 'claude-code'] }],
  });
export type Group = z.infer<typeof Group>;

export const Groups = z.object({ groups: z.array(Group) }).meta({ id: 'Groups', description: 'By name.' });

export const CreateGroup = z
  .object({ name: GroupName })
  .meta({ id: 'CreateGroup', description: 'A group to make.', examples: [{ name: 'research' }] });

export const CreatedGroup = z
  .object({ name: z.string() })
  .meta({ id: 'CreatedGroup', description: 'A group that was made.', examples: [{ name: 'research' }] });
