import * as z from 'zod';
import { resource } from './resource.ts';
import { Conditions, Generation, say } from './values.ts';

/** Servers that belong together. */
export const mcpGroup = resource({
  kind: 'MCPGroup',
  singular: 'mcpgroup',
  plural: 'mcpgroups',
  shortNames: ['mcpg', 'mcpgroup'],
  summary: 'A group of MCPServers in a namespace. Each MCPServer names its group.',
  spec: z.object({ description: say(z.string(), 'What the servers have in common.').optional() }),
  status: z.object({
    phase: say(z.enum(['Ready', 'Pending', 'Failed']).default('Pending'), 'Whether its members are known.'),
    conditions: say(Conditions, 'The latest observations.').optional(),
    observedGeneration: say(Generation, 'The generation that the operator has seen last.').optional(),
    serverCount: say(z.int(), 'The number of members.').optional(),
    servers: say(z.array(z.string()), 'The names of its members, sorted.').optional(),
  }),
  columns: [
    {
      name: 'Ready',
      type: 'string',
      jsonPath: ".status.conditions[?(@.type=='MCPServersChecked')].status",
    },
  ],
  example: { name: 'research', spec: { description: 'What the research team works with' } },
});
