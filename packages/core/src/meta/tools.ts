import { tokensOfTool } from '@toolhive/contract/tokens';
import * as z from 'zod';
import * as inputs from './tool-inputs.ts';

/** A tool of the meta server. The descriptions are short, because every client pays for them. */
interface MetaTool {
  name: string;
  title: string;
  description: string;
  input: z.ZodType;
  annotations: { readOnlyHint: boolean; destructiveHint?: boolean; openWorldHint: boolean };
}

const reads = { readOnlyHint: true, openWorldHint: false };

/** A tool as clients see the tool in `tools/list`. */
interface Described extends Omit<MetaTool, 'input'> {
  inputSchema: object;
}

/** Every tool of the meta server. `read_result` appears only if results can be truncated. */
export const metaTools: readonly MetaTool[] = [
  {
    name: 'find_tool',
    title: 'Find a tool',
    description:
      'Find tools of the running MCP servers. Search for one step at a time with a verb and an object, such as "list issues of a repository", and name the service or the file type if you know it. Do not search for a whole task. Then call a result with call_tool.',
    input: inputs.FindTool,
    annotations: reads,
  },
  {
    name: 'call_tool',
    title: 'Call a tool',
    description:
      'Call a tool that find_tool or list_tools has returned, with parameters that fit its input schema.',
    input: inputs.CallTool,
    annotations: { readOnlyHint: false, openWorldHint: true },
  },
  {
    name: 'list_tools',
    title: 'List tools',
    description: 'List the names of all tools by server. Prefer find_tool, which also returns schemas.',
    input: inputs.ListTools,
    annotations: reads,
  },
  {
    name: 'search_registry',
    title: 'Search the registry',
    description: 'Find MCP servers that are not running yet, if no tool fits.',
    input: inputs.SearchRegistry,
    annotations: reads,
  },
  {
    name: 'install_server',
    title: 'Install a server',
    description:
      'Install and run a server of the registry after the user agrees. Then find its tools with find_tool.',
    input: inputs.InstallServer,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
  },
  {
    name: 'read_result',
    title: 'Read a result',
    description: 'Read more of a truncated result of call_tool.',
    input: inputs.ReadResult,
    annotations: reads,
  },
];

/** Returns a tool as clients see the tool in `tools/list`. */
export function describeMetaTool({ name, title, description, input, annotations }: MetaTool): Described {
  const { $schema: _dialect, ...inputSchema } = z.toJSONSchema(input, {
    io: 'input',
    unrepresentable: 'any',
    metadata: unnamed,
  });
  return { name, title, description, inputSchema, annotations };
}

/** Without the names that the contract gives its schemas: each tool describes its whole input. */
const unnamed = {
  get: (part: z.ZodType) => {
    const { description } = z.globalRegistry.get(part) ?? {};
    return description === undefined ? undefined : { description };
  },
} as unknown as typeof z.globalRegistry; // only `get` is called

/** The estimated tokens of the list of these tools, without `read_result`. */
export function metaListingTokens(): number {
  return metaTools
    .filter(({ name }) => name !== 'read_result')
    .reduce((sum, tool) => sum + tokensOfTool(describeMetaTool(tool)), 0);
}
