import type { Command } from '../../command.ts';
import { inSection } from '../flags.ts';
import { listenerFlags } from '../listener-flags.ts';

/** The daemon, and the machine that it runs on. */
export const systemCommands: readonly Command[] = [
  {
    path: 'serve',
    summary: 'Run the daemon in the foreground with its HTTP API',
    description:
      'Ends a daemon that runs in the background, takes over its workloads, and listens on HOST and PORT.',
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
        kind: 'integer',
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
      ...listenerFlags,
      {
        name: 'authz-config',
        kind: 'string',
        value: 'FILE',
        description: 'A JSON or YAML file with Cedar policies that define the permissions of callers',
        completes: 'file',
      },
      ...inSection('MCP server', [
        {
          name: 'experimental-mcp',
          kind: 'boolean',
          description: 'Also serve the tools of `thv mcp serve` to callers of the API',
        },
        {
          name: 'experimental-mcp-host',
          kind: 'string',
          value: 'ADDRESS',
          description: 'The address that the tools listen on',
          default: 'localhost',
        },
        {
          name: 'experimental-mcp-port',
          kind: 'integer',
          value: 'PORT',
          description: 'The port for the tools. 0 selects a free port',
          default: 4483,
        },
      ]),
      {
        name: 'openapi',
        kind: 'boolean',
        description:
          'Serve an API reference page at /api/doc. The OpenAPI document is always at /api/openapi.json',
      },
      { name: 'background', kind: 'boolean', description: 'Listen on the Unix socket only', hidden: true },
    ],
    examples: [
      'thv serve --port 9090',
      'thv serve --host 0.0.0.0 --token-file ~/.thv-token',
      'thv serve --openapi',
      'thv serve --oidc-issuer https://id.example.com --oidc-audience toolhive',
    ],
    load: () => import('./daemon-process.ts'),
  },
  {
    path: 'ui',
    summary: 'Open the web UI',
    description:
      'Prints the URL of the web UI and opens it in your browser. If no daemon listens on a port, the background daemon opens a port on 127.0.0.1 that accepts only browsers that have signed in. The URL contains a code that signs one browser in and expires after a minute. The port is 8080, or the value of TOOLHIVE_UI_PORT, or a free port if that one is in use.',
    flags: [{ name: 'no-browser', kind: 'boolean', description: 'Print the URL without opening it' }],
    examples: ['thv ui', 'thv ui --no-browser'],
    load: () => import('./ui.ts'),
  },
  {
    path: 'runtime check',
    summary: 'Check the runtimes on this machine',
    flags: [
      {
        name: 'timeout',
        kind: 'integer',
        value: 'SECONDS',
        description: 'The time limit for a response',
        default: 30,
      },
    ],
    examples: ['thv runtime check', 'thv runtime check --format json'],
    load: () => import('./runtime-check.ts'),
  },
  {
    path: 'doctor',
    summary: 'Diagnose problems',
    description:
      'Checks a workload or a client layer by layer, from its runtime to its clients, and reports each problem with its fix. Without a NAME, checks the machine, and briefly all workloads and clients.\n\nThe exit code is 1 if something is wrong.',
    arguments: [{ name: 'name', description: 'A workload or a client', completes: 'workload' }],
    examples: ['thv doctor', 'thv doctor filesystem', 'thv doctor cursor --format json'],
    load: () => import('./doctor.ts'),
  },
  {
    path: 'completion',
    unformatted: 'a shell reads its output',
    summary: 'Print a shell completion script',
    description:
      'Prints a completion script for your shell. With the script, Tab completes commands, flags, their values, and the names of workloads, groups, secrets, clients, and registry entries while a daemon is running.',
    arguments: [
      { name: 'shell', description: 'Your shell', required: true, choices: ['bash', 'zsh', 'fish'] },
    ],
    examples: [
      'source <(thv completion bash)',
      'thv completion zsh > ~/.zfunc/_thv',
      'thv completion fish > ~/.config/fish/completions/thv.fish',
    ],
    load: () => import('./completion.ts'),
  },
  {
    path: '__complete',
    unformatted: 'a shell reads its output',
    summary: 'Print shell completions',
    hidden: true,
    takesRest: true,
    load: () => import('./complete.ts'),
  },
  {
    path: 'version',
    summary: 'Print the version',
    flags: [{ name: 'json', kind: 'boolean', description: 'Same as --format json', hidden: true }],
    examples: ['thv version', 'thv version --format json'],
    load: () => import('./version.ts'),
  },
];
