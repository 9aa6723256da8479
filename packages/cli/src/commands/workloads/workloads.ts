import { formatWith } from '../../command.ts';
import type { Argument, Command, Flag } from '../../command.ts';
import { clusterFlags } from '../cluster/cluster.ts';
import { group, searchFlag, timeFlags, workload } from '../flags.ts';
import { runFlags, storeSecrets } from './run-flags.ts';

const all: Flag = { name: 'all', kind: 'boolean', description: 'All workloads' };

const severalWorkloads: Argument = {
  ...workload,
  name: 'names',
  description: 'The names of workloads',
  required: false,
  variadic: true,
};

const startFlags: readonly Flag[] = [
  { ...all, shorthand: 'a' },
  { ...group, shorthand: 'g' },
  {
    name: 'foreground',
    shorthand: 'f',
    kind: 'boolean',
    description: "Stay attached and show the server's output. Ctrl-C stops the workload",
  },
];

/** The life of workloads. */
export const workloadCommands: readonly Command[] = [
  {
    path: 'run',
    summary: 'Run an MCP server',
    description:
      'Runs a server in isolation behind a proxy, and prints its URL for clients.\n\nSOURCE is the name of a registry entry (filesystem), a package (npx://NAME, uvx://NAME, go://MODULE, each optionally with @VERSION), a local path (a directory with a package.json, pyproject.toml, or go.mod, a script, a wheel, or a .tgz archive), a bundle (.mcpb, .dxt) as a file or an https URL, a container image, the URL of a remote server, or the GitHub URL of a registered server. ToolHive passes everything after -- to the server unchanged.\n\nYou can also paste the command of another program: npx, uvx, pipx run, go run, docker run, and similar ones, a command that adds a server to a client (claude mcp add, code --add-mcp), or an installation link (cursor:, vscode:). Put flags of thv run before the command.',
    arguments: [{ name: 'source', description: 'The server to run', completes: 'registry-server' }],
    takesRest: true,
    async isOther(words) {
      const { isCommandLine } = await import('@toolhive/pasted/launchers');
      const { readInstallation } = await import('@toolhive/pasted/client-install');
      return isCommandLine(words) || readInstallation(words) !== undefined;
    },
    excessHint: namedUrl,
    flags: [...runFlags, ...clusterFlags],
    examples: [
      'thv run filesystem --volume ~/notes:/projects -- /projects',
      'thv run npx://@modelcontextprotocol/server-everything',
      'thv run ./server.py --with mcp',
      'thv run ./notes.mcpb --config directory=~/notes:ro',
      'thv run npx -y @modelcontextprotocol/server-everything',
      'thv run --name github docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server',
      'thv run https://mcp.example.com/mcp --name example',
      'thv run uvx://mcp-server-time --name time --label team=research',
      'thv run github --secret github-token,target=GITHUB_PERSONAL_ACCESS_TOKEN',
      'thv run --from-config filesystem.json',
    ],
    load: () => import('./run.ts'),
  },
  {
    path: 'list',
    aliases: ['ls'],
    summary: 'List workloads',
    flags: [
      { name: 'all', shorthand: 'a', kind: 'boolean', description: 'Include stopped workloads' },
      {
        name: 'unmanaged',
        kind: 'boolean',
        description: 'List the servers that clients run without ToolHive instead',
      },
      group,
      {
        name: 'label',
        shorthand: 'l',
        kind: 'list',
        value: 'KEY=VALUE',
        description: 'Only workloads with this label',
      },
      {
        name: 'sessions',
        kind: 'boolean',
        description: 'Show which sessions share server processes, and why',
      },
      formatWith('mcpservers'),
    ],
    examples: [
      'thv list',
      'thv list --all --label team=research',
      'thv list --sessions',
      'thv list --unmanaged',
      'thv list --format mcpservers > .mcp.json',
    ],
    load: () => import('./list.ts'),
  },
  {
    path: 'status',
    summary: 'Show one workload',
    description:
      'Shows the status, the URL, and the other properties of one workload. If the status is unhealthy or error, `thv doctor NAME` looks for the cause.',
    arguments: [workload],
    examples: ['thv status filesystem', 'thv status filesystem --format json'],
    load: () => import('./status.ts'),
  },
  {
    path: 'import',
    summary: 'Import servers from a client configuration',
    description:
      'Runs the MCP servers that a client starts without isolation as workloads. SOURCE is a client (cursor, claude-desktop), a configuration file in JSON, YAML, or TOML, or - for a configuration or commands in standard input. The client configuration is not changed.',
    arguments: [
      { name: 'source', description: 'A client, a file, or - for standard input', completes: 'client' },
      { name: 'names', description: 'The entries to import. By default, all', variadic: true },
    ],
    flags: [
      { ...group, description: 'The group of the workloads' },
      { name: 'dry-run', kind: 'boolean', description: 'Print the thv run commands, and run nothing' },
      storeSecrets,
    ],
    examples: [
      'thv import cursor --dry-run',
      'thv import claude-desktop github',
      'thv import .mcp.json --store-secrets',
    ],
    load: () => import('./import.ts'),
  },
  {
    path: 'export',
    unformatted: 'its own --format selects the format of the file',
    summary: 'Export a workload',
    description:
      'Writes everything that is needed to run a workload again, here or elsewhere, into a file: for `thv run --from-config`, as a manifest for Kubernetes, or as the mcpServers JSON that `thv import` and MCP clients read. A bundle contains only the URL of the workload, so the server stays isolated. The file contains only references to secrets.\n\nWith `--format project`, all words are names of workloads, by default all, and the project file goes to standard output.',
    arguments: [
      { ...workload, required: false },
      {
        name: 'path',
        description: 'The output file. An existing file is replaced',
        variadic: true,
        completes: 'file',
      },
    ],
    flags: [
      { ...group, description: 'With --format project, the workloads of this group' },
      {
        name: 'format',
        kind: 'string',
        value: 'FORMAT',
        choices: ['json', 'k8s', 'mcp-json', 'mcpb', 'project'],
        description:
          'A run config, an MCPServer for the operator, an mcpServers entry for MCP clients, a bundle that connects a client to the workload, or a project file for `thv up`',
        default: 'json',
      },
    ],
    examples: [
      'thv export filesystem filesystem.json',
      'thv export fetch fetch.yaml --format k8s',
      'thv export time .mcp.json --format mcp-json',
      'thv export fetch fetch.mcpb --format mcpb',
      'thv export --format project > toolhive.yaml',
    ],
    load: () => import('./export.ts'),
  },
  {
    path: 'pack',
    summary: 'Pack a directory into a bundle',
    description:
      'Checks the manifest.json in a directory, and packs the directory into a bundle (.mcpb) for `thv run` and for clients such as Claude Desktop. The same files always give the same bundle. Leaves out files that match .mcpbignore, files of version control, and files that usually contain credentials.',
    arguments: [
      {
        name: 'directory',
        description: 'The directory with the manifest.json',
        required: true,
        completes: 'file',
      },
    ],
    flags: [
      {
        name: 'output',
        shorthand: 'o',
        kind: 'string',
        value: 'FILE',
        description: 'The output file. By default, the name of the directory with .mcpb',
        completes: 'file',
      },
    ],
    examples: ['thv pack ./my-server', 'thv pack ./my-server -o my-server-1.0.0.mcpb'],
    load: () => import('./pack.ts'),
  },
  {
    path: 'build',
    summary: 'Build a container image from a package',
    description:
      'Builds the container image that `thv run` would use for a package, without running it. Requires Docker or Podman, except for --dry-run, which only prints the Dockerfile.',
    arguments: [
      { name: 'protocol', description: 'The package: npx://NAME, uvx://NAME or go://MODULE', required: true },
    ],
    excessHint: () =>
      'omit the server arguments, and pass them when you run the image: thv run IMAGE -- ARGUMENTS',
    flags: [
      {
        name: 'tag',
        shorthand: 't',
        kind: 'string',
        value: 'NAME:TAG',
        description: 'The name of the image',
      },
      { name: 'dry-run', kind: 'boolean', description: 'Print the Dockerfile without building' },
      {
        name: 'output',
        shorthand: 'o',
        kind: 'string',
        value: 'FILE',
        description: 'Write the Dockerfile to a file without building',
        completes: 'file',
      },
    ],
    examples: [
      'thv build npx://@modelcontextprotocol/server-everything',
      'thv build uvx://mcp-server-time --tag registry.example.com/time:1.0',
      'thv build go://./server --dry-run',
    ],
    load: () => import('./build.ts'),
  },
  {
    path: 'inspector',
    summary: 'Open a workload in the MCP Inspector',
    description:
      'Starts the official MCP Inspector, connected to a workload, and prints the URL of its page with the access token. Only this machine can reach the page. npm installs the inspector on first use.',
    arguments: [workload],
    flags: [
      {
        name: 'ui-port',
        shorthand: 'u',
        kind: 'integer',
        value: 'PORT',
        description: 'The port of the inspector page',
        default: 6274,
      },
      {
        name: 'mcp-proxy-port',
        shorthand: 'p',
        kind: 'integer',
        value: 'PORT',
        description: "The inspector's second port, for pages that servers provide",
        default: 6277,
      },
    ],
    examples: ['thv inspector filesystem', 'thv inspector filesystem --ui-port 7000'],
    load: () => import('./inspector.ts'),
  },
  {
    path: 'logs',
    summary: "Show a workload's log",
    description:
      "Shows a server's output, or with --proxy its proxy log. ToolHive keeps both logs until you remove the workload.",
    arguments: [workload],
    flags: [
      {
        name: 'follow',
        shorthand: 'f',
        kind: 'boolean',
        description: 'Follow new output until Ctrl-C',
      },
      { name: 'proxy', shorthand: 'p', kind: 'boolean', description: 'Show the proxy log instead' },
      {
        name: 'tail',
        kind: 'integer',
        value: 'LINES',
        description:
          'The maximum number of lines, counted from the end. The default is 100, or all lines with --proxy',
      },
      searchFlag('lines that contain'),
      ...timeFlags('lines'),
    ],
    examples: [
      'thv logs filesystem',
      'thv logs filesystem --follow',
      'thv logs filesystem --proxy --tail 20',
      'thv logs filesystem --search error --since 2h',
    ],
    load: () => import('./logs.ts'),
  },
  {
    path: 'logs prune',
    summary: 'Remove the logs of removed workloads',
    examples: ['thv logs prune'],
    load: () => import('./logs-prune.ts'),
  },
  {
    path: 'stop',
    summary: 'Stop workloads',
    description: 'Stops workloads and waits until they are stopped. To run them again, use `thv start`.',
    arguments: [severalWorkloads],
    flags: [
      all,
      { ...group, shorthand: 'g' },
      {
        name: 'timeout',
        kind: 'integer',
        value: 'SECONDS',
        description: 'The time limit',
        default: 30,
      },
    ],
    exclusive: [['all', 'group']],
    examples: ['thv stop filesystem', 'thv stop fetch time', 'thv stop --group research'],
    load: () => import('./stop.ts'),
  },
  {
    path: 'start',
    summary: 'Start stopped workloads',
    description:
      'Starts workloads with their run config, on the same port. Running workloads are not changed. To restart them, use `thv restart`.',
    arguments: [severalWorkloads],
    flags: startFlags,
    exclusive: [['all', 'group']],
    examples: ['thv start filesystem', 'thv start fetch time', 'thv start --all'],
    load: () => import('./start.ts'),
  },
  {
    path: 'restart',
    summary: 'Restart workloads',
    description:
      'Stops workloads and starts them with their run config, on the same port. The servers receive the current values of their secrets. Stopped workloads are started.',
    arguments: [severalWorkloads],
    flags: startFlags,
    exclusive: [['all', 'group']],
    examples: ['thv restart filesystem', 'thv restart fetch time', 'thv restart --all'],
    load: () => import('./restart.ts'),
  },
  {
    path: 'exec',
    summary: "Run a server's program once with other arguments",
    description:
      'For commands such as the sign-in of a server: the program of the workload runs with the arguments after --, and with the permissions, files, and secrets of the workload. Its output appears here and in no log, and it reads your input. The server is stopped meanwhile. It starts again afterwards, unless the workload was stopped before.\n\nThe exit code is the one of the program.',
    arguments: [workload],
    takesRest: true,
    excessHint: programArguments,
    examples: ['thv exec gmail -- auth'],
    load: () => import('./exec.ts'),
  },
  {
    path: 'rm',
    summary: 'Remove workloads',
    description:
      'Stops workloads and removes them completely: containers, logs, stored files, and entries in client configuration files. On a terminal, asks before deleting stored files.',
    arguments: [severalWorkloads],
    flags: [
      all,
      group,
      {
        name: 'yes',
        shorthand: 'y',
        kind: 'boolean',
        description: 'Skip the confirmation before removing stored files, all workloads, or a group',
      },
    ],
    exclusive: [['all', 'group']],
    examples: ['thv rm filesystem', 'thv rm --group research --yes'],
    load: () => import('./rm.ts'),
  },
];

/** Other programs take the name of a remote server before its URL. */
function namedUrl([name = '', url = '', ...more]: readonly string[]): string | undefined {
  const isNamed = more.length === 0 && /^[\w.-]{1,100}$/.test(name) && /^https?:\/\/\S{1,2000}$/.test(url);
  return isNamed ? `for a remote server, use thv run URL --name ${name}` : undefined;
}

function programArguments([name = '', ...words]: readonly string[]): string | undefined {
  const isPlain = [name, ...words].every((word) => /^[\w./:=@-]{1,200}$/.test(word));
  return isPlain ? `put the program's arguments after --: thv exec ${name} -- ${words.join(' ')}` : undefined;
}
