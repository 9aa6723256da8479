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
    path: 'adopt',
    summary: 'Take over the servers that clients run themselves',
    description:
      'Finds the MCP servers that clients start or reach themselves, shows what ToolHive would run in their place, and asks. Then it runs each server in isolation, moves API keys from the file to the secrets, compares the tools with those of the original command, and then lets the client use the workload. A server that does not work in isolation stays as it is. `--undo` restores every byte.',
    arguments: [
      {
        name: 'clients',
        description: 'The clients. By default, all',
        variadic: true,
        completes: 'client',
      },
    ],
    flags: [
      {
        name: 'project',
        kind: 'words',
        value: 'DIRECTORY',
        description: 'A project whose configuration files count too. By default, the current directory',
        completes: 'folder',
      },
      {
        name: 'dry-run',
        kind: 'boolean',
        description: 'Show the plan and the changes of each file, and do nothing',
      },
      {
        name: 'allow-local-port',
        kind: 'list',
        value: 'PORT',
        description:
          'Also adopt servers that use this TCP port of this machine, and let them reach it at their localhost',
      },
      { name: 'yes', shorthand: 'y', kind: 'boolean', description: 'Do not ask' },
      { name: 'list', kind: 'boolean', description: 'List the adopted servers and the backups' },
      { name: 'undo', kind: 'boolean', description: 'Give the servers back to the clients' },
      {
        name: 'whole-files',
        kind: 'boolean',
        description: 'With --undo, also discard the changes that were made to the files since',
      },
    ],
    examples: [
      'thv adopt --dry-run',
      'thv adopt',
      'thv adopt cursor claude-code --yes',
      'thv adopt --list',
      'thv adopt --undo cursor',
    ],
    load: () => import('./adopt.ts'),
  },
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
