import { table } from './markdown.ts';

/** A term of the product, as pages and product text use it. */
export interface GlossaryTerm {
  term: string;
  /** One or two sentences in Markdown. Links are relative to the reference pages. */
  definition: string;
  /** Words that newcomers use for the term. The search finds the pages about the term by these words. */
  synonyms: readonly string[];
  /** Wording that pages and product text must not use for the term. */
  avoid: readonly string[];
}

/** All terms in alphabetical order. The glossary page, the search synonyms, and the prose check come from this list. */
export const glossary: readonly GlossaryTerm[] = [
  {
    term: 'Access token',
    definition:
      'A credential that a client sends to prove the identity of its user, usually as `Authorization: Bearer TOKEN`.',
    synonyms: ['bearer', 'jwt', 'token'],
    avoid: [],
  },
  {
    term: 'Allowlist',
    definition:
      'The hosts and ports that a server can access. See [Network isolation](../guides-cli/network-isolation.mdx).',
    synonyms: ['whitelist', 'firewall', 'egress', 'block'],
    avoid: ['whitelist'],
  },
  {
    term: 'API server',
    definition: 'The local HTTP API of the daemon. See [API server](../guides-cli/api-server.mdx).',
    synonyms: ['rest', 'endpoint', 'openapi', 'swagger'],
    avoid: [],
  },
  {
    term: 'Audit log',
    definition:
      'The record of calls, changes, and denials. See [Audit calls and changes](../guides-cli/telemetry-and-metrics.mdx#audit-calls-and-changes).',
    synonyms: ['audit', 'audit trail', 'compliance'],
    avoid: [],
  },
  {
    term: 'Authentication',
    definition:
      'The verification of a caller’s identity. See [Authentication and authorization](../guides-cli/authentication.mdx).',
    synonyms: ['auth', 'login', 'sign in', 'sso', 'oidc', 'oauth'],
    avoid: [],
  },
  {
    term: 'Authorization',
    definition:
      'The decision whether a caller can use a tool or an operation, based on [Cedar policies](../guides-cli/authentication.mdx#decide-with-policies).',
    synonyms: ['auth', 'rbac', 'policy', 'access control'],
    avoid: [],
  },
  {
    term: 'CLI',
    definition: 'The command `thv`. See [CLI guides](../guides-cli/index.mdx).',
    synonyms: ['command line', 'terminal', 'shell'],
    avoid: [],
  },
  {
    term: 'Client',
    definition:
      'Short for MCP client: a program that connects to MCP servers, for example Cursor or VS Code. See [Client compatibility](./client-compatibility.mdx).',
    synonyms: ['application', 'app', 'ide', 'editor', 'agent', 'host application'],
    avoid: ['client application'],
  },
  {
    term: 'Configuration file',
    definition: 'A file with settings, for example `config.yaml` of ToolHive or `mcp.json` of a client.',
    synonyms: ['config', 'mcp.json', 'preferences', 'options'],
    avoid: [],
  },
  {
    term: 'Container engine',
    definition: 'Docker, Podman, or Colima. One of the two runtimes.',
    synonyms: ['docker', 'podman', 'colima', 'docker desktop', 'rancher'],
    avoid: [],
  },
  {
    term: 'Corporate proxy',
    definition: 'A network proxy of a company, which can inspect TLS traffic with its own CA certificate.',
    synonyms: ['http proxy', 'https_proxy', 'tls inspection', 'zscaler', 'ca certificate'],
    avoid: [],
  },
  {
    term: 'Credential',
    definition: 'A password, an API key, or an access token that a service issues.',
    synonyms: ['api key', 'password', 'token'],
    avoid: [],
  },
  {
    term: 'Custom resource',
    definition: 'A Kubernetes object such as `MCPServer`. See [Operator CRD spec](./crd-spec.mdx).',
    synonyms: ['crd', 'manifest', 'mcpserver', 'yaml'],
    avoid: ['kind of resource'],
  },
  {
    term: 'Daemon',
    definition:
      'Short for ToolHive daemon: the background process that owns all workloads of your user account.',
    synonyms: ['background process', 'service', 'server process', 'hive'],
    avoid: [],
  },
  {
    term: 'Dockerfile',
    definition:
      'The build file that [`thv build`](../guides-cli/build-containers.mdx) generates for a package.',
    synonyms: ['recipe', 'containerfile', 'image build'],
    avoid: ['recipe'],
  },
  {
    term: 'Environment variable',
    definition:
      'A named value in the environment of a process. `--env` and `--secret` set environment variables for a server.',
    synonyms: ['env var', 'env', 'variable'],
    avoid: [],
  },
  {
    term: 'Group',
    definition:
      'A named set of workloads. Clients are registered for groups. See [Organize workloads in groups](../guides-cli/group-management.mdx).',
    synonyms: ['project', 'workspace', 'collection', 'namespace'],
    avoid: [],
  },
  {
    term: 'Mount',
    definition:
      'A file or directory of your machine that a server can access. See [Mount files and directories](../guides-cli/filesystem-access.mdx).',
    synonyms: ['bind mount', 'volume', 'share', 'folder', 'shared directory'],
    avoid: ['share a folder'],
  },
  {
    term: 'MCP',
    definition: 'The Model Context Protocol. See [About MCP](../concepts/mcp-primer.mdx).',
    synonyms: ['model context protocol', 'protocol'],
    avoid: [],
  },
  {
    term: 'Operator',
    definition:
      'Short for Kubernetes operator: runs MCP servers in a cluster. See [About the operator](../guides-k8s/intro.mdx).',
    synonyms: ['controller', 'kubernetes', 'k8s', 'helm'],
    avoid: [],
  },
  {
    term: 'Package registry',
    definition:
      'A service that hosts packages, for example npm or PyPI. Different from the ToolHive registry.',
    synonyms: ['npm', 'pypi', 'artifactory', 'nexus'],
    avoid: [],
  },
  {
    term: 'Permission profile',
    definition:
      'The JSON object that grants a server access to files and network hosts. See [Permission profiles](../guides-cli/custom-permissions.mdx).',
    synonyms: ['permissions', 'privileges', 'capabilities', 'access rights'],
    avoid: [],
  },
  {
    term: 'Protocol version',
    definition: 'A dated version of MCP, for example 2025-06-18.',
    synonyms: ['revision', 'spec version', 'mcp version'],
    avoid: [],
  },
  {
    term: 'Proxy',
    definition: 'The HTTP endpoint of a workload. Clients connect to the proxy, and the proxy to the server.',
    synonyms: ['endpoint', 'gateway', 'url', 'port'],
    avoid: [],
  },
  {
    term: 'Register a client',
    definition:
      'Give a client access to the workloads of a group. ToolHive then updates its configuration file. See [Connect clients](../guides-cli/client-configuration.mdx).',
    synonyms: ['connect', 'set up a client', 'add to cursor', 'link'],
    avoid: [],
  },
  {
    term: 'Registry',
    definition: 'The catalog of MCP servers. See [Explore the registry](../guides-cli/registry.mdx).',
    synonyms: ['catalog', 'marketplace', 'store', 'directory of servers', 'hub'],
    avoid: ['catalogue', 'catalogued'],
  },
  {
    term: 'Registry entry',
    definition:
      'One server in the registry, with its package or image, environment variables, and permissions.',
    synonyms: ['server definition', 'listing'],
    avoid: ['entry of the registry'],
  },
  {
    term: 'Remote server',
    definition: 'An MCP server that runs on another machine and that ToolHive connects to by its URL.',
    synonyms: ['hosted server', 'cloud server', 'saas'],
    avoid: [],
  },
  {
    term: 'Run config',
    definition: 'The complete workload configuration. See [Run config](./run-config.mdx).',
    synonyms: ['runconfig', 'export', 'workload configuration'],
    avoid: [],
  },
  {
    term: 'Runtime',
    definition: 'The program that isolates servers: the sandbox or a container engine.',
    synonyms: ['isolation', 'engine', 'backend'],
    avoid: ['what isolates'],
  },
  {
    term: 'Sandbox',
    definition: 'The isolation of a server as a Linux process with bubblewrap. Its flag value is `process`.',
    synonyms: ['bubblewrap', 'bwrap', 'namespace', 'seccomp', 'process'],
    avoid: [],
  },
  {
    term: 'Secret',
    definition:
      'A credential that ToolHive stores. See [Manage secrets](../guides-cli/secrets-management.mdx).',
    synonyms: ['credential', 'password', 'api key', 'keychain', 'vault'],
    avoid: ['what is secret'],
  },
  {
    term: 'Server',
    definition: 'Short for MCP server: a program that offers tools, resources, and prompts to clients.',
    synonyms: ['mcp server', 'tool server', 'plugin', 'extension', 'connector'],
    avoid: ['tool server'],
  },
  {
    term: 'Setting',
    definition: 'One value in a configuration file. See [Settings](./settings.mdx).',
    synonyms: ['option', 'preference', 'config value'],
    avoid: [],
  },
  {
    term: 'stdio',
    definition: 'Standard input and output, as a transport between a client and a server.',
    synonyms: ['standard input', 'stdin', 'stdout', 'pipe'],
    avoid: ['standard streams'],
  },
  {
    term: 'Tool',
    definition: 'A function of a server that a model can call.',
    synonyms: ['function', 'action', 'function calling'],
    avoid: [],
  },
  {
    term: 'Tool pinning',
    definition:
      'The detection of tools that change after their approval. See [Review changed tools](../guides-cli/manage-mcp-servers.mdx#review-changed-tools).',
    synonyms: ['tool poisoning', 'rug pull', 'changed tools', 'approve tools'],
    avoid: [],
  },
  {
    term: 'Transport',
    definition: 'The way messages travel between a client and a server: stdio, streamable HTTP, or SSE.',
    synonyms: ['sse', 'http', 'streamable-http', 'websocket'],
    avoid: [],
  },
  {
    term: 'Troubleshooting',
    definition: 'The diagnosis of problems. Start with `thv doctor`.',
    synonyms: ['debug', 'not working', 'error', 'fix', 'help', 'broken'],
    avoid: [],
  },
  {
    term: 'Web UI',
    definition: 'The ToolHive interface in the browser. See [UI guides](../guides-ui/index.mdx).',
    synonyms: ['gui', 'desktop app', 'dashboard', 'browser', 'interface'],
    avoid: ['web interface'],
  },
  {
    term: 'Workload',
    definition:
      'A server as ToolHive runs it: its configuration, its process or container, and its proxy. The web UI calls it a server.',
    synonyms: ['instance', 'running server', 'deployment', 'process'],
    avoid: [],
  },
];

/** Returns the table of all terms, to be included in a page. */
export function glossaryReference(): string {
  const rows = glossary.map(({ term, definition, synonyms }) => [
    `**${term}**`,
    definition,
    synonyms.join(', '),
  ]);
  return `${table('Glossary', ['Term', 'Definition', 'Other words'], rows)}\n`;
}

/**
 * The other words for the terms whose definition links to a page at `url`. The glossary itself has the words of terms
 * without a link.
 */
export function synonymsOf(url: string): string[] {
  return glossary.flatMap(({ term, definition, synonyms }) => {
    const [, target] = /\]\((?:\.\.|\.)\/([^)#]+?)(?:\/index)?\.mdx/.exec(definition) ?? [];
    return url.replace(/\/$/, '').endsWith(`/${target ?? 'glossary'}`) ? [term, ...synonyms] : [];
  });
}
