import type { Command } from '../../command.ts';

/** The tools of all servers. */
export const toolCommands: readonly Command[] = [
  {
    path: 'tools',
    summary: 'List the tools of running workloads with their token costs',
    description:
      'Lists the tools that clients see, and estimates how many tokens each tool takes in the context of a model. The last line compares the whole list with the tools of the meta server.',
    flags: [
      {
        name: 'group',
        kind: 'string',
        value: 'NAME',
        description: 'Only workloads of this group',
        completes: 'group',
      },
    ],
    examples: ['thv tools', 'thv tools --group research --format json'],
    load: () => import('./list.ts'),
  },
];
