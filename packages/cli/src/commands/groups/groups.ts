import type { Argument, Command, Flag } from '../../command.ts';

const tool: Flag = {
  name: 'tool',
  kind: 'list',
  value: 'WORKLOAD/TOOL',
  description:
    'A tool that the combined endpoint offers, or WORKLOAD/* for all tools of a workload (default all tools)',
};

const group: Argument = { name: 'name', description: 'The name of the group', required: true };

/** Workloads that belong together. */
export const groupCommands: readonly Command[] = [
  {
    path: 'group create',
    summary: 'Create a group',
    arguments: [group],
    flags: [
      {
        name: 'meta',
        kind: 'boolean',
        description:
          'Give clients of the group only a meta server, which finds and calls the tools of all others',
      },
      {
        name: 'endpoint',
        kind: 'string',
        value: 'KIND',
        choices: ['combined', 'meta'],
        description:
          'Give clients of the group only one endpoint: combined offers everything of all workloads, and meta finds and calls their tools',
      },
      tool,
    ],
    examples: [
      'thv group create research',
      'thv group create work --meta',
      'thv group create office --endpoint combined',
    ],
    load: () => import('./create.ts'),
  },
  {
    path: 'group list',
    summary: 'List groups',
    examples: ['thv group list', 'thv group list --format json'],
    load: () => import('./list.ts'),
  },
  {
    path: 'group edit',
    summary: 'Change the name, the description, or the endpoint of a group',
    description:
      'Workloads stay in the group, and clients stay registered with the group. Running workloads are not restarted. The default group keeps its name.',
    arguments: [{ ...group, completes: 'group' }],
    flags: [
      { name: 'rename', kind: 'string', value: 'NAME', description: 'The new name' },
      {
        name: 'description',
        kind: 'string',
        value: 'TEXT',
        description: 'The new description, or "" to remove the description',
      },
      {
        name: 'meta',
        kind: 'string',
        value: 'STATE',
        choices: ['on', 'off'],
        description: 'Whether clients of the group get only a meta server',
      },
      {
        name: 'endpoint',
        kind: 'string',
        value: 'KIND',
        choices: ['combined', 'meta', 'none'],
        description: 'The only endpoint that clients of the group get, or none to give them each workload',
      },
      tool,
      { name: 'all-tools', kind: 'boolean', description: 'Offer all tools at the combined endpoint again' },
    ],
    examples: [
      'thv group edit research --rename reading',
      'thv group edit research --description "Papers and notes"',
      'thv group edit research --meta on',
      'thv group edit research --endpoint combined --tool files/read_file',
    ],
    load: () => import('./edit.ts'),
  },
  {
    path: 'group info',
    summary: 'Show a group and the token cost of its tools',
    arguments: [{ ...group, completes: 'group' }],
    examples: ['thv group info research', 'thv group info research --format json'],
    load: () => import('./info.ts'),
  },
  {
    path: 'group rm',
    summary: 'Remove a group',
    description:
      'Removes a group. Moves its workloads to the default group, or removes them too. If the group has workloads, asks for confirmation first.',
    arguments: [{ ...group, completes: 'group' }],
    flags: [
      { name: 'with-workloads', kind: 'boolean', description: 'Also remove the workloads' },
      { name: 'yes', shorthand: 'y', kind: 'boolean', description: 'Skip the confirmation' },
    ],
    examples: ['thv group rm research', 'thv group rm research --with-workloads --yes'],
    load: () => import('./rm.ts'),
  },
  {
    path: 'group run',
    summary: 'Run all servers in a registry group',
    description:
      'Creates a group with the same name, and runs its servers under their own names. If a server fails to start, the other servers still start.',
    arguments: [{ ...group, description: 'The name of a registry group', completes: 'registry-group' }],
    flags: [
      {
        name: 'env',
        kind: 'list',
        value: 'SERVER.NAME=VALUE',
        description: 'An environment variable for one of the servers',
      },
      {
        name: 'secret',
        kind: 'list',
        value: 'NAME,target=SERVER.VARIABLE',
        description: 'A stored secret for a server, and the environment variable that receives it',
        completes: 'secret',
      },
    ],
    examples: [
      'thv group run research',
      'thv group run research --env weather.UNITS=metric --secret key,target=weather.API_KEY',
    ],
    load: () => import('./run.ts'),
  },
];
