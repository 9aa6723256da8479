import * as z from 'zod';
import { lastColumns, resource } from './resource.ts';
import { ReferencedStatus, say } from './values.ts';

const Override = z.object({
  name: say(z.string(), 'The new name of the tool.').optional(),
  description: say(z.string(), "The tool's description for clients.").optional(),
});

/** A tool filter with overrides. */
export const mcpToolConfig = resource({
  kind: 'MCPToolConfig',
  singular: 'mcptoolconfig',
  plural: 'mcptoolconfigs',
  shortNames: ['tc', 'toolconfig'],
  summary: 'The tools that clients can use, and their names.',
  spec: z.object({
    toolsFilter: say(
      z.array(z.string()),
      'The tools that clients can use, by their new names. If absent, all tools.',
    ).optional(),
    toolsOverride: say(
      z.record(z.string(), Override),
      "The replacements that clients see, by the server's tool name.",
    ).optional(),
  }),
  status: ReferencedStatus.extend({
    filterCount: say(z.int().min(0), 'The number of tools in the filter.').optional(),
    overrideCount: say(z.int().min(0), 'The number of tools with replacements.').optional(),
  }),
  columns: [
    { name: 'Filter Count', type: 'integer', jsonPath: '.status.filterCount' },
    { name: 'Override Count', type: 'integer', jsonPath: '.status.overrideCount' },
    { name: 'Referenced By', type: 'string', jsonPath: '.status.referencingServers' },
    ...lastColumns,
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
