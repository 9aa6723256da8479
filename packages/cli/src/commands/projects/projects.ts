import type { Argument, Command, Flag } from '../../command.ts';

const file: Argument = {
  name: 'file',
  description:
    'The project file, or a configuration file of an MCP client. By default, toolhive.yaml, .mcp.json, .vscode/mcp.json, .cursor/mcp.json, or mcp.json',
  completes: 'file',
};

const yes: Flag = { name: 'yes', shorthand: 'y', kind: 'boolean', description: 'Do not ask' };

/** Sets of servers that several people use. */
export const projectCommands: readonly Command[] = [
  {
    path: 'up',
    summary: 'Run the servers of a project',
    description:
      'Creates or updates the workloads of a project file, shows the difference first, and asks. toolhive.lock keeps exact versions, hashes of packages, and hashes of tools, so that everyone runs the same servers. A difference from the lock file is refused. Servers get your secrets and environment variables only if the file names them, and the plan lists each.',
    arguments: [
      file,
      { name: 'names', description: 'With --update, the servers to update. By default, all', variadic: true },
    ],
    flags: [
      { name: 'dry-run', kind: 'boolean', description: 'Show the plan, and do nothing' },
      yes,
      {
        name: 'locked',
        kind: 'boolean',
        description: 'Refuse every difference from toolhive.lock, and change nothing then',
      },
      {
        name: 'update',
        kind: 'boolean',
        description: 'Replace the locked versions and tools of the named servers, or of all servers',
      },
      {
        name: 'prune',
        kind: 'boolean',
        description: 'Remove the workloads of the project that are no longer in the file',
      },
      {
        name: 'input',
        kind: 'list',
        value: 'ID=VALUE',
        description: 'The answer to ${input:ID} in the file. ToolHive remembers it',
      },
      {
        name: 'accept-risks',
        kind: 'boolean',
        description: 'Accept the dangerous access in the plan, for example a mount of a home directory',
      },
    ],
    exclusive: [['locked', 'update']],
    examples: [
      'thv up --dry-run',
      'thv up --yes',
      'thv up .vscode/mcp.json --input org=acme',
      'thv up --update github',
      'thv up --locked --yes',
    ],
    load: () => import('./up.ts'),
  },
  {
    path: 'down',
    summary: 'Remove the workloads of a project',
    description:
      'Removes the workloads that thv up has created for the file, with the files that they have stored. All other workloads stay, and so do secrets.',
    arguments: [file],
    flags: [yes],
    examples: ['thv down', 'thv down --yes'],
    load: () => import('./down.ts'),
  },
];
