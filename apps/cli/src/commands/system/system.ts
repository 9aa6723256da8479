import type { Command } from '../../command.ts';
import { inSection } from '../flags.ts';
import { listenerFlags } from '../listener-flags.ts';

/** The daemon itself, and what it runs on. */
export const systemCommands: readonly Command[] = [
  {
    path: 'serve',
    summary: 'Run the daemon in the foreground, with its HTTP API',
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
        description: 'A JSON or YAML file of Cedar policies: who may do what through the API',
        completes: 'file',
      },
      ...inSection('The tools of this product, over MCP', [
        {
          name: 'experimental-mcp',
          kind: 'boolean',
          description: 'Offer them, as `thv mcp serve` does, to those who may use the API',
        },
        {
          name: 'experimental-mcp-host',
          kind: 'string',
          value: 'ADDRESS',
          description: 'The address that they are offered on',
          default: 'localhost',
        },
        {
          name: 'experimental-mcp-port',
          kind: 'integer',
          value: 'PORT',
          description: 'The port that they are offered on; 0 is any free port',
          default: 4483,
        },
      ]),
      {
        name: 'openapi',
        kind: 'boolean',
        description: 'Serve a page about the API at /api/doc; its description is at /api/openapi.json anyway',
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
      'Prints the address of the web UI and opens it in your browser. If no daemon listens on a port, the background daemon opens one on 127.0.0.1 that only accepts browsers that have signed in. The address contains a code that signs one browser in and expires after a minute. The port is 8080, or the one in TOOLHIVE_UI_PORT, or a free one if that is in use.',
    flags: [{ name: 'no-browser', kind: 'boolean', description: 'Print the address without opening it' }],
    examples: ['thv ui', 'thv ui --no-browser'],
    load: () => import('./ui.ts'),
  },
  {
    path: 'runtime check',
    summary: 'Tell what servers can run in on this machine',
    flags: [
      {
        name: 'timeout',
        kind: 'integer',
        value: 'SECONDS',
        description: 'How long to wait for an answer',
        default: 30,
      },
    ],
    examples: ['thv runtime check', 'thv runtime check --format json'],
    load: () => import('./runtime-check.ts'),
  },
  {
    path: 'doctor',
    summary: 'Tell why something works, or does not',
    description:
      'Looks at a workload or a client application one layer after the other, from what it runs in to who uses it, and says of each what is right or wrong and what to do. Without a NAME it looks at the machine, and at everything in passing.\n\nIt ends with an error when something is wrong.',
    arguments: [{ name: 'name', description: 'A workload or a client application', completes: 'workload' }],
    examples: ['thv doctor', 'thv doctor filesystem', 'thv doctor cursor --format json'],
    load: () => import('./doctor.ts'),
  },
  {
    path: 'completion',
    unformatted: 'what it prints is read by a shell',
    summary: 'Print what a shell needs to complete words',
    description:
      'Prints a script for your shell. With it, Tab completes commands, flags and their values, and the names of workloads, groups, secrets, clients and servers of the registry, as long as a daemon runs.',
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
    unformatted: 'what it prints is read by a shell',
    summary: 'Tell a shell what can come next',
    hidden: true,
    takesRest: true,
    load: () => import('./complete.ts'),
  },
  {
    path: 'version',
    summary: 'Print the version',
    flags: [{ name: 'json', kind: 'boolean', description: 'The same as --format json', hidden: true }],
    examples: ['thv version', 'thv version --format json'],
    load: () => import('./version.ts'),
  },
];
