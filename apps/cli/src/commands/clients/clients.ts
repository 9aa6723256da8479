import type { Argument, Command, Flag } from '../../command.ts';

const application: Argument = {
  name: 'client',
  description: 'The client application; `thv client status` lists all of them',
  required: true,
  completes: 'client',
};

const inGroups: Flag = {
  name: 'group',
  kind: 'words',
  value: 'GROUP',
  description: 'A group whose workloads the application sees',
  completes: 'group',
};

/** Applications that use servers, and whose configuration files name them. */
export const clientCommands: readonly Command[] = [
  {
    path: 'client status',
    summary: 'Tell which client applications are installed and registered',
    examples: ['thv client status', 'thv client status --format json'],
    load: () => import('./status.ts'),
  },
  {
    path: 'client list-registered',
    summary: 'List the client applications that are kept configured',
    examples: ['thv client list-registered'],
    load: () => import('./list-registered.ts'),
  },
  {
    path: 'client register',
    summary: 'Keep a client application configured',
    description:
      'From now on the configuration file of the application names the running workloads of the groups. Everything else in that file stays as it is.',
    arguments: [application],
    flags: [{ ...inGroups, default: ['default'] }],
    examples: ['thv client register cursor', 'thv client register vscode --group research'],
    load: () => import('./register.ts'),
  },
  {
    path: 'client preview',
    summary: 'Show how registering a client would change its configuration file',
    description: 'Changes nothing. Only entries of ToolHive are shown.',
    arguments: [application],
    flags: [
      {
        name: 'group',
        kind: 'string',
        value: 'GROUP',
        description: 'The group whose workloads the client would see',
        default: 'default',
        completes: 'group',
      },
    ],
    examples: ['thv client preview cursor', 'thv client preview vscode --group research'],
    load: () => import('./preview.ts'),
  },
  {
    path: 'client remove',
    summary: 'No longer keep a client application configured',
    description:
      'Takes all workloads of the groups out of the configuration file of the application; those of every group when none is given.',
    arguments: [application],
    flags: [
      {
        ...inGroups,
        description: 'A group whose workloads the application no longer sees; all of them when absent',
        default: [],
      },
    ],
    examples: ['thv client remove cursor', 'thv client remove vscode --group research'],
    load: () => import('./remove.ts'),
  },
  {
    path: 'client setup',
    summary: 'Choose on the screen which client applications are kept configured',
    description:
      'Shows the applications that are installed. The arrows or j and k move, Space chooses, Enter confirms, q leaves everything as it is.',
    examples: ['thv client setup'],
    load: () => import('./setup.ts'),
  },
];
