import * as z from 'zod';
import { lastColumns, resource } from './resource.ts';
import { Conditions, Generation, say } from './values.ts';

/** Servers that belong together. */
export const mcpGroup = resource({
  kind: 'MCPGroup',
  singular: 'mcpgroup',
  plural: 'mcpgroups',
  shortNames: ['mcpg', 'mcpgroup'],
  summary: 'A group of MCPServers in a namespace. Each MCPServer refers to its group.',
  spec: z.object({ description: say(z.string(), 'A description of the group.').optional() }),
  status: z.object({
    phase: say(z.enum(['Ready', 'Pending', 'Failed']).default('Pending'), 'The current phase.'),
    conditions: say(Conditions, 'The latest observations.').optional(),
    observedGeneration: say(Generation, 'The latest generation that the operator has processed.').optional(),
    serverCount: say(z.int(), 'The number of members.').optional(),
    servers: say(z.array(z.string()), 'The names of the members, in alphabetical order.').optional(),
  }),
  columns: [{ name: 'Servers', type: 'integer', jsonPath: '.status.serverCount' }, ...lastColumns],
  example: { name: 'research', spec: { description: 'What the research team works with' } },
});
