import type { Argument, Command } from '../../command.ts';
import { searchFlag, timeFlags, workload } from '../flags.ts';

const severalWorkloads: Argument = {
  ...workload,
  name: 'names',
  description: 'The workloads. By default, all running ones',
  required: false,
  variadic: true,
};

/** Commands about the use of servers. */
export const trafficCommands: readonly Command[] = [
  {
    path: 'traffic',
    summary: 'Show the calls to a server',
    description:
      'Shows the latest calls to a workload: the client, the tool, the duration, and the outcome. The daemon keeps calls for 24 hours, at most 100,000 of all workloads. The content is not recorded. Reads by ToolHive and its web UI are left out.',
    arguments: [workload],
    flags: [
      {
        name: 'follow',
        shorthand: 'f',
        kind: 'boolean',
        description: 'Show calls when they end, until Ctrl-C',
      },
      {
        name: 'limit',
        kind: 'integer',
        value: 'NUMBER',
        description: 'The maximum number of earlier calls, from 1 to 1000',
        default: 100,
      },
      {
        name: 'outcome',
        kind: 'string',
        value: 'OUTCOME',
        choices: ['ok', 'error', 'denied', 'cancelled'],
        description: 'Only calls with this outcome',
      },
      {
        name: 'item',
        kind: 'string',
        value: 'NAME',
        description: 'Only calls about this tool, prompt, or resource',
      },
      { name: 'client', kind: 'string', value: 'NAME', description: 'Only calls of clients with this name' },
      searchFlag('calls whose client, method, item, or reason contains'),
      ...timeFlags('calls'),
      {
        name: 'own-reads',
        kind: 'boolean',
        description: 'Also show reads by ToolHive and its web UI, such as lists of tools',
      },
    ],
    examples: [
      'thv traffic github',
      'thv traffic github --outcome error --since 2h',
      'thv traffic github --search issue',
      'thv traffic github --follow',
    ],
    load: () => import('./calls.ts'),
  },
  {
    path: 'top',
    summary: 'Show the resource use of running workloads',
    description:
      'Shows the processor time, the memory, the processes, the sessions, and the calls of running workloads. Calls are counted since the daemon started, or in the time of --since and --until: in minutes of the last 24 hours, or in hours of the last 30 days. On a terminal, the table is renewed until Ctrl-C.',
    arguments: [severalWorkloads],
    flags: [
      { name: 'once', kind: 'boolean', description: 'Show the table once' },
      {
        name: 'interval',
        kind: 'duration',
        value: 'TIME',
        description: 'The time between two tables',
        default: '2s',
      },
      ...timeFlags('calls'),
    ],
    examples: ['thv top', 'thv top github time', 'thv top --once --since 24h'],
    load: () => import('./top.ts'),
  },
];
