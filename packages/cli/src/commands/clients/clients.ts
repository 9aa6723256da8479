import type { Argument, Command, Flag } from '../../command.ts';

const application: Argument = {
  name: 'client',
  description: 'The client. Run `thv client status` to list all clients',
  required: true,
  completes: 'client',
};

const inGroups: Flag = {
  name: 'group',
  kind: 'words',
  value: 'GROUP',
  description: 'A group whose workloads the client can use',
  completes: 'group',
};

/** Applications that use servers, and whose configuration files name them. */
export const clientCommands: readonly Command[] = [
  {
    path: 'client status',
    summary: 'Show the status of all clients',
    examples: ['thv client status', 'thv client status --format json'],
    load: () => import('./status.ts'),
  },
  {
    path: 'client list-registered',
    summary: 'List registered clients',
    examples: ['thv client list-registered'],
    load: () => import('./list-registered.ts'),
  },
  {
    path: 'client register',
    summary: 'Register a client',
    description:
      "Adds the running workloads of the groups to the client's configuration file, and keeps the entries up to date. Everything else in the file stays unchanged.",
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
    summary: 'Remove a client',
    description:
      "Removes the workloads of the groups from the client's configuration file. Without --group, removes the workloads of every group.",
    arguments: [application],
    flags: [
      {
        ...inGroups,
        description: 'A group whose workloads to remove from the client',
        default: [],
      },
    ],
    examples: ['thv client remove cursor', 'thv client remove vscode --group research'],
    load: () => import('./remove.ts'),
  },
  {
    path: 'client setup',
    summary: 'Select clients to register',
    description:
      'Shows the installed clients. The arrows or j and k move, Space selects, Enter confirms, and q changes nothing.',
    examples: ['thv client setup'],
    load: () => import('./setup.ts'),
  },
];
