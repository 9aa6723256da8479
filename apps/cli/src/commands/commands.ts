import type { Command, Flag } from '../command.ts';

const format: Flag = {
  name: 'format',
  description: 'How to print the result',
  kind: 'string',
  value: 'FORMAT',
  choices: ['text', 'json'],
  default: 'text',
};

const workload = { name: 'name', description: 'The name of the workload', required: true };

/** Every command of `thv`. */
export const commands: readonly Command[] = [
  {
    path: 'run',
    summary: 'Run an MCP server',
    description:
      'Runs a server isolated, with a proxy in front, and prints where clients reach it.\n\nSOURCE is the name of a registry entry (filesystem), a package (npx://NAME, uvx://NAME, go://MODULE, each with\n@VERSION if you like), a container image, or the URL of a remote server. What follows -- are the arguments of the server.',
    arguments: [{ name: 'source', description: 'What to run', required: true }],
    takesRest: true,
    flags: [
      {
        name: 'name',
        kind: 'string',
        value: 'NAME',
        description: 'The name of the workload; derived from SOURCE when absent',
      },
      {
        name: 'transport',
        kind: 'string',
        value: 'KIND',
        choices: ['stdio', 'sse', 'streamable-http'],
        description: 'How the server talks; the registry knows, else stdio',
      },
      {
        name: 'proxy-mode',
        kind: 'string',
        value: 'MODE',
        choices: ['sse', 'streamable-http'],
        description: 'Which endpoint of a stdio server its URL names',
        default: 'sse',
      },
      {
        name: 'proxy-port',
        kind: 'number',
        value: 'PORT',
        description: 'The port of the proxy; 0 chooses a free one',
        default: 0,
      },
      {
        name: 'target-port',
        kind: 'number',
        value: 'PORT',
        description: 'The port that an HTTP server listens on',
        default: 0,
      },
      {
        name: 'host',
        kind: 'string',
        value: 'ADDRESS',
        description: 'The address that the proxy binds to',
        default: '127.0.0.1',
      },
      {
        name: 'env',
        shorthand: 'e',
        kind: 'list',
        value: 'NAME=VALUE',
        description: 'An environment variable for the server; can be repeated',
      },
      {
        name: 'secret',
        kind: 'list',
        value: 'NAME,target=VARIABLE',
        description: 'A stored secret for the server, and the variable that receives it; can be repeated',
      },
      {
        name: 'volume',
        shorthand: 'v',
        kind: 'list',
        value: 'HOST:CONTAINER[:ro]',
        description: 'A file or folder to share with the server; can be repeated',
      },
      {
        name: 'permission-profile',
        kind: 'string',
        value: 'PROFILE',
        description: 'What the server may touch: none, network, or a JSON file',
      },
      {
        name: 'sessions',
        kind: 'string',
        value: 'KIND',
        choices: ['own', 'shared'],
        description: 'Whether each client has a server process of its own; the registry knows, else own',
      },
      {
        name: 'group',
        kind: 'string',
        value: 'GROUP',
        description: 'The group of the workload',
        default: 'default',
      },
      format,
    ],
    examples: [
      'thv run filesystem --volume ~/notes:/projects -- /projects',
      'thv run npx://@modelcontextprotocol/server-everything',
      'thv run https://mcp.example.com/mcp --name example',
      'thv run uvx://mcp-server-time --name time',
    ],
    load: () => import('./run.ts'),
  },
  {
    path: 'list',
    aliases: ['ls'],
    summary: 'List workloads',
    flags: [
      { name: 'all', shorthand: 'a', kind: 'boolean', description: 'Those that do not run, too' },
      { name: 'group', kind: 'string', value: 'GROUP', description: 'Only workloads of this group' },
      format,
    ],
    examples: ['thv list', 'thv list --all --format json'],
    load: () => import('./list.ts'),
  },
  {
    path: 'logs',
    summary: 'Show what a server wrote',
    arguments: [workload],
    flags: [
      {
        name: 'tail',
        kind: 'number',
        value: 'LINES',
        description: 'At most so many lines, counted from the end',
        default: 100,
      },
    ],
    examples: ['thv logs filesystem'],
    load: () => import('./logs.ts'),
  },
  {
    path: 'stop',
    summary: 'Stop workloads',
    arguments: [{ ...workload, variadic: true }],
    examples: ['thv stop filesystem'],
    load: () => import('./stop.ts'),
  },
  {
    path: 'restart',
    summary: 'Start a workload again that does not run',
    arguments: [workload],
    examples: ['thv restart filesystem'],
    load: () => import('./restart.ts'),
  },
  {
    path: 'rm',
    summary: 'Stop workloads and remove all of them',
    arguments: [{ ...workload, variadic: true }],
    examples: ['thv rm filesystem'],
    load: () => import('./rm.ts'),
  },
  {
    path: 'runtime check',
    summary: 'Tell what servers can run in on this machine',
    flags: [format],
    load: () => import('./runtime-check.ts'),
  },
  {
    path: 'serve',
    summary: 'Run the hive in the foreground, with its HTTP API',
    description:
      'Ends a hive that runs in the background, takes over its workloads, and listens on HOST and PORT.',
    flags: [
      {
        name: 'host',
        kind: 'string',
        value: 'ADDRESS',
        description: 'The address that the API listens on',
        default: '127.0.0.1',
      },
      {
        name: 'port',
        kind: 'number',
        value: 'PORT',
        description: 'The port that the API listens on',
        default: 8080,
      },
      {
        name: 'socket',
        kind: 'string',
        value: 'PATH',
        description: 'A Unix socket to listen on instead of HOST and PORT',
      },
      {
        name: 'token-file',
        kind: 'string',
        value: 'PATH',
        description: 'A file with the bearer token that callers must send',
      },
      {
        name: 'oidc-issuer',
        kind: 'string',
        value: 'URL',
        description: 'Accept the tokens of this OpenID provider',
      },
      {
        name: 'oidc-audience',
        kind: 'string',
        value: 'NAME',
        description: 'Whom those tokens must be meant for; asked for with every other --oidc flag',
      },
      {
        name: 'oidc-jwks-url',
        kind: 'string',
        value: 'URL',
        description: 'Where the keys of the provider are; the issuer knows',
      },
      {
        name: 'oidc-introspection-url',
        kind: 'string',
        value: 'URL',
        description: 'Where tokens that are no JWTs are looked up',
      },
      { name: 'oidc-client-id', kind: 'string', value: 'ID', description: 'As whom they are looked up' },
      {
        name: 'oidc-client-secret',
        kind: 'string',
        value: 'SECRET',
        description: 'The secret of that client; better in TOOLHIVE_OIDC_CLIENT_SECRET, which nobody sees',
      },
      {
        name: 'insecure-no-auth',
        kind: 'boolean',
        description:
          'Listen beyond this machine without asking callers for a token: whoever reaches it, rules it',
      },
      { name: 'debug', kind: 'boolean', description: 'Log more' },
      { name: 'background', kind: 'boolean', description: 'Listen on the Unix socket only', hidden: true },
    ],
    examples: [
      'thv serve --port 9090',
      'thv serve --host 0.0.0.0 --token-file ~/.thv-token',
      'thv serve --oidc-issuer https://id.example.com --oidc-audience toolhive',
    ],
    load: () => import('./serve.ts'),
  },
  {
    path: 'version',
    summary: 'Print the version',
    flags: [
      format,
      { name: 'json', kind: 'boolean', description: 'The same as --format json', hidden: true },
    ],
    load: () => import('./version.ts'),
  },
];
