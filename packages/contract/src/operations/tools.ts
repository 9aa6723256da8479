import * as z from 'zod';
import { operation } from '../operation.ts';
import { GroupName } from '../schemas/names.ts';
import { ToolList } from '../schemas/tool-list.ts';

export const toolOperations = {
  listTools: operation({
    method: 'GET',
    path: '/tools',
    tag: 'workloads',
    access: 'read-items',
    command: 'none',
    summary: 'List the tools of all running workloads',
    description:
      'Each tool comes with the estimated number of tokens that the tool takes in the context of a model. The sums show how many tokens a meta server saves.',
    query: z.object({
      group: GroupName.optional().meta({ description: 'Only the workloads of this group.' }),
    }),
    success: { status: 200, description: 'The tools, sorted by workload.', body: ToolList },
    failures: ['not-found'],
  }),
};
