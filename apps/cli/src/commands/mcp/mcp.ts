import type { Command, Flag } from '../../command.ts';
import { listenerFlags } from '../listener-flags.ts';

const transport: Flag = {
  name: 'transport',
  kind: 'string',
  value: 'KIND',
  choices: ['auto', 'sse', 'streamable-http'],
  description: 'How the server is talked to; auto finds it out',
  default: 'auto',
};

const listFlags: readonly Flag[] = [
  {
    name: 'server',
    kind: 'string',
    value: 'SERVER',
    description: 'The URL of a server, or the name of a workload that runs',
    required: true,
    completes: 'workload',
  },
  transport,
  {
    name: 'timeout',
    kind: 'duration',
    value: 'TIME',
    description: 'How long everything may take',
    default: '30s',
  },
];

/** What a server has: each can be listed alone. */
export const offers = ['tools', 'resources', 'prompts'] as const;

export type Offer = (typeof offers)[number];

/** Servers as their clients see them, and this product as one of them. */
export const mcpCommands: readonly Command[] = [
  {
    path: 'mcp list',
    summary: 'List what a server has: its tools, resources and prompts',
    description:
      'Asks a server for its tools, resources and prompts, page by page, whichever revision of MCP it speaks.',
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
    summary: 'Call a tool of a server',
    description:
      'Calls a tool and prints its result. Each argument is NAME=VALUE. ToolHive reads VALUE as JSON if the tool expects another type than text for it. The exit code is 1 if the tool reports an error.',
    arguments: [
      {
        name: 'server',
        description: 'The name of a running workload, or the URL of a server',
        required: true,
        completes: 'workload',
      },
      { name: 'tool', description: 'The name of the tool', required: true },
      { name: 'arguments', description: 'The arguments of the tool, as NAME=VALUE', variadic: true },
    ],
    flags: [
      {
        name: 'input',
        shorthand: 'i',
        kind: 'string',
        value: 'JSON',
        description: 'The arguments as a JSON object, or - to read it from standard input',
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
    summary: 'Offer the control of this product as MCP tools',
    description:
      'Runs an MCP server whose tools search the registry, and run, list, stop and remove servers. Whoever reaches it can run programs on this machine, so it listens on this machine only unless you say otherwise. Ends with Ctrl-C.',
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
        description: 'The port to listen on; MCP_PORT counts when this is not given; 0 is any free port',
        default: 4483,
      },
      ...listenerFlags,
    ],
    examples: ['thv mcp serve', 'thv mcp serve --port 5000'],
    load: () => import('./serve.ts'),
  },
];
