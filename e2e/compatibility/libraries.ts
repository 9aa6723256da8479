/** What the programs try with a client library. */
export const trials = ['tools', 'text', 'progress', 'error', 'elicitation', 'sampling'] as const;
export type Trial = (typeof trials)[number];

/** A client library with the program that uses it, and how both are installed. */
export interface Library {
  name: string;
  ecosystem: 'npm' | 'pypi' | 'go' | 'cargo';
  /** What is installed, with exact versions. The first is the library itself. */
  packages: Readonly<Record<string, string>>;
  /** Features of Rust packages. */
  features?: Readonly<Record<string, readonly string[]>>;
  /** The file in `clients/`. */
  program: string;
  args?: readonly string[];
  /** What the program tries. The page shows the others as not tested. */
  trials: readonly Trial[];
}

const basics = ['tools', 'text', 'error'] as const;
const all = trials;

export const libraries: readonly Library[] = [
  {
    name: 'TypeScript SDK 1',
    ecosystem: 'npm',
    packages: { '@modelcontextprotocol/sdk': '1.32.2' },
    program: 'typescript-sdk-1.mjs',
    trials: all,
  },
  {
    name: 'TypeScript SDK 2',
    ecosystem: 'npm',
    packages: { '@modelcontextprotocol/client': '2.4.0' },
    program: 'typescript-sdk-2.mjs',
    trials: all,
  },
  {
    name: 'TypeScript SDK 2 with protocol version 2026-07-28',
    ecosystem: 'npm',
    packages: { '@modelcontextprotocol/client': '2.4.0' },
    program: 'typescript-sdk-2.mjs',
    args: ['2026-07-28'],
    trials: all,
  },
  {
    name: 'Python SDK 1',
    ecosystem: 'pypi',
    packages: { mcp: '1.30.0' },
    program: 'python_sdk_1.py',
    trials: all,
  },
  {
    name: 'Python SDK 2',
    ecosystem: 'pypi',
    packages: { mcp: '2.3.0' },
    program: 'python_sdk_2.py',
    trials: all,
  },
  {
    name: 'Go SDK',
    ecosystem: 'go',
    packages: { 'github.com/modelcontextprotocol/go-sdk': 'v1.8.0' },
    program: 'main.go',
    trials: all,
  },
  {
    name: 'Rust SDK',
    ecosystem: 'cargo',
    packages: { rmcp: '3.11.0', serde_json: '1.0.154', tokio: '1.54.1' },
    features: {
      rmcp: ['client', 'elicitation', 'transport-streamable-http-client-reqwest'],
      tokio: ['macros', 'rt-multi-thread'],
    },
    program: 'main.rs',
    trials: all,
  },
  {
    name: 'mcp-remote',
    ecosystem: 'npm',
    packages: { 'mcp-remote': '0.15.1', '@modelcontextprotocol/sdk': '1.32.2' },
    program: 'mcp-remote.mjs',
    trials: all,
  },
  {
    name: 'AI SDK',
    ecosystem: 'npm',
    packages: { '@ai-sdk/mcp': '2.0.99', ai: '7.0.173' },
    program: 'ai-sdk.mjs',
    trials: [...basics, 'elicitation'],
  },
  {
    name: 'OpenAI Agents SDK for JavaScript',
    ecosystem: 'npm',
    packages: { '@openai/agents': '0.20.0', zod: '4.6.7' },
    program: 'openai-agents.mjs',
    trials: basics,
  },
  {
    name: 'FastMCP',
    ecosystem: 'pypi',
    packages: { fastmcp: '4.1.2' },
    program: 'fastmcp_client.py',
    trials: all,
  },
  {
    name: 'mcp-use',
    ecosystem: 'pypi',
    packages: { 'mcp-use': '1.7.1' },
    program: 'mcp_use_client.py',
    trials: [...basics, 'elicitation', 'sampling'],
  },
  {
    name: 'LangChain MCP adapters for Python',
    ecosystem: 'pypi',
    packages: { 'langchain-mcp-adapters': '0.3.2' },
    program: 'langchain_client.py',
    trials: [...basics, 'progress', 'elicitation'],
  },
  {
    name: 'LangChain MCP adapters for JavaScript',
    ecosystem: 'npm',
    packages: { '@langchain/mcp-adapters': '1.1.4', '@langchain/core': '1.4.0' },
    program: 'langchain.mjs',
    trials: basics,
  },
  {
    name: 'MCP Inspector CLI',
    ecosystem: 'npm',
    packages: { '@modelcontextprotocol/inspector': '2.12.0' },
    program: 'inspector.mjs',
    trials: basics,
  },
];
