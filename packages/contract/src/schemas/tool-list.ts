import * as z from 'zod';

const tokens = z.int().min(0);

const ToolCost = z
  .object({
    server: z.string().meta({ description: 'The workload.' }),
    group: z.string().meta({ description: 'The group of the workload.' }),
    name: z.string().meta({ description: 'The name that clients see.' }),
    description: z.string().optional().meta({ description: 'The first line of the description.' }),
    estimated_tokens: tokens.meta({
      description: 'The estimated number of tokens that the tool takes in the context of a model.',
    }),
  })
  .meta({ id: 'ToolCost', description: 'A tool of a running workload with its token cost.' });

export const ToolList = z
  .object({
    tools: z.array(ToolCost).meta({ description: 'The tools, sorted by workload.' }),
    listing_tokens: tokens.meta({
      description: 'The estimated number of tokens of the list of all these tools.',
    }),
    meta_listing_tokens: tokens.meta({
      description: 'The same for the tools of the meta server, which replace the list.',
    }),
  })
  .meta({
    id: 'ToolList',
    description: 'The tools of running workloads with their token costs.',
    examples: [
      {
        tools: [{ server: 'fetch', group: 'default', name: 'fetch', estimated_tokens: 180 }],
        listing_tokens: 180,
        meta_listing_tokens: 900,
      },
    ],
  });
export type ToolList = z.infer<typeof ToolList>;
