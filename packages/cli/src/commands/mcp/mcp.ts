import type { Command, Flag } from '../../command.ts';
import { listenerFlags } from '../listener-flags.ts';

const transport: Flag = {
  name: 'transport',
  kind: 'string',
  value: 'KIND',
  choices: ['auto', 'sse', 'streamable-http'],
  description: 'The transport. auto detects it',
  default: 'auto',
};

const listFlags: readonly Flag[] = [
  {
    name: 'server',
    kind: 'string',
    value: 'SERVER',
    description: 'The URL of a server, or the name of a running workload',
    required: true,
    completes: 'workload',
  },
  transport,
  {
    name: 'timeout',
    kind: 'duration',
    value: 'TIME',
    description: 'The time limit',
    default: '30s',
  },
];

/** What a server has: each can be listed alone. */
export const offers = ['tools', 'resources', 'prompts', 'skills'] as const;

export type Offer = (typeof offers)[number];

/** Servers from a client's point of view, and ToolHive as a server. */
export const mcpCommands: readonly Command[] = [
  {
    path: 'mcp list',
    summary: 'List the tools, resources, prompts, and skills of a server',
    description:
      "Lists a server's tools, resources, prompts, and skills, including all pages, with any MCP protocol version.",
    arguments: [{ name: 'what', description: `One of ${offers.join(', ')}`, choices: offers }],
    flags: listFlags,
    examples: [
      'thv mcp list --server filesystem',
      'thv mcp list --server http://127.0.0.1:8080/mcp --format json',
    ],
    load: () => import('./list.ts'),
  },
  ...offers.map((offer): Command => ({
    path: `mcp list ${offer}`,
    summary: `List the ${offer} of a server`,
    flags: listFlags,
    examples: [`thv mcp list ${offer} --server filesystem`],
    async load() {
      const { listOffers } = await import('./list.ts');
      return { run: (call) => listOffers(call, [offer]) };
    },
  })),
  {
    path: 'mcp call',
    summary: 'Call a tool',
    description:
      'Calls a tool and prints its result. Each argument is NAME=VALUE. If the tool expects another type than a string, ToolHive parses VALUE as JSON. The exit code is 1 if the tool reports an error.',
    arguments: [
      {
        name: 'server',
        description: 'The name of a running workload, or the URL of a server',
        completes: 'workload',
      },
      { name: 'tool', description: 'The name of the tool' },
      { name: 'arguments', description: 'The tool arguments, as NAME=VALUE', variadic: true },
    ],
    flags: [
      {
        name: 'server',
        kind: 'string',
        value: 'SERVER',
        description: 'The server, instead of the first argument',
        completes: 'workload',
      },
      {
        name: 'input',
        shorthand: 'i',
        kind: 'string',
        value: 'JSON',
        description: 'The arguments as a JSON object, or - to read them from standard input',
      },
      transport,
      {
        name: 'timeout',
        kind: 'duration',
        value: 'TIME',
        description: 'The time limit of the call',
        default: '5m',
      },
    ],
    examples: [
      'thv mcp call time get_current_time timezone=Europe/Berlin',
      `thv mcp call filesystem read_text_file --input '{"path":"/projects/notes.txt"}'`,
      'thv mcp call fetch fetch url=https://example.com max_length=500 --format json',
    ],
    load: () => import('./call.ts'),
  },
  {
    path: 'mcp serve',
    summary: 'Run ToolHive as an MCP server',
    description:
      'Runs an MCP server with tools that search the registry and that run, list, stop, and remove servers. Anyone who can reach the server can run programs on this machine, so by default it listens only on this machine. Press Ctrl-C to stop.',
    flags: [
      {
        name: 'host',
        kind: 'string',
        value: 'ADDRESS',
        description: 'The address to listen on',
        default: 'localhost',
      },
      {
        name: 'port',
        kind: 'integer',
        value: 'PORT',
        description: 'The port to listen on. 0 selects a free port. Without this flag, MCP_PORT applies',
        default: 4483,
      },
      ...listenerFlags,
    ],
    examples: ['thv mcp serve', 'thv mcp serve --port 5000'],
    load: () => import('./serve.ts'),
  },
];
