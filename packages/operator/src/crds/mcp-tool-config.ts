import * as z from 'zod';
import { age, resource } from './resource.ts';
import { ReferencedStatus, say } from './values.ts';

const Override = z.object({
  name: say(z.string(), 'What clients call the tool.').optional(),
  description: say(z.string(), 'What clients are told about it.').optional(),
});

/** Which tools of servers are offered. */
export const mcpToolConfig = resource({
  kind: 'MCPToolConfig',
  singular: 'mcptoolconfig',
  plural: 'mcptoolconfigs',
  shortNames: ['tc', 'toolconfig'],
  summary: 'Which tools of servers are offered, and under which names.',
  spec: z.object({
    toolsFilter: say(
      z.array(z.string()),
      'The tools that clients may see, by the names that clients see; all of them when absent.',
    ).optional(),
    toolsOverride: say(
      z.record(z.string(), Override),
      'By the name that the server gives a tool: what clients see instead.',
    ).optional(),
  }),
  status: ReferencedStatus,
  columns: [
    { name: 'Filter Count', type: 'integer', jsonPath: '.spec.toolsFilter[*]' },
    { name: 'Override Count', type: 'integer', jsonPath: '.spec.toolsOverride' },
    { name: 'Referenced By', type: 'string', jsonPath: '.status.referencingServers' },
    age,
  ],
  example: {
    name: 'weather',
    spec: {
      toolsFilter: ['forecast'],
      toolsOverride: {
        get_forecast_v2: { name: 'forecast', description: 'Tells the weather of the next days.' },
      },
    },
  },
});
