import type { Command, CommandGroup, OtherVersions, Program } from '../command.ts';

/** Commands that are declared together. */
interface Topic {
  /** The first words of its command lines. */
  words: readonly string[];
  load: () => Promise<readonly Command[]>;
}

/** The words that only lead to others. */
export const groups: readonly CommandGroup[] = [
  { path: 'mcp', summary: 'Call MCP servers, and run ToolHive as one' },
  { path: 'registry', summary: 'Search the registry' },
  { path: 'authz', summary: 'Check authorization policies' },
  { path: 'permission', summary: 'Show and change permissions' },
  { path: 'pin', summary: 'Review and approve changed tools' },
  { path: 'runtime', summary: 'Show the available runtimes' },
  { path: 'group', summary: 'Manage groups' },
  { path: 'client', summary: 'Manage clients' },
  { path: 'secret', summary: 'Manage secrets' },
  { path: 'service', summary: 'Run the daemon as an operating system service' },
  { path: 'cluster', summary: 'Migrate and verify a cluster with the operator' },
  { path: 'config', summary: 'Manage settings' },
  { path: 'config otel', summary: 'Manage telemetry settings' },
];

export const examples: readonly string[] = [
  'thv search files',
  'thv run filesystem --volume ~/notes:/projects',
  'thv list',
  'thv doctor',
];

export const others = (): Promise<OtherVersions> => import('./other-versions.ts');

export const topics: readonly Topic[] = [
  {
    words: [
      'build',
      'exec',
      'export',
      'import',
      'inspector',
      'list',
      'logs',
      'ls',
      'pack',
      'restart',
      'rm',
      'run',
      'start',
      'status',
      'stop',
    ],
    load: async () => (await import('./workloads/workloads.ts')).workloadCommands,
  },
  { words: ['down', 'up'], load: async () => (await import('./projects/projects.ts')).projectCommands },
  {
    words: ['learn', 'network', 'permission'],
    load: async () => (await import('./network/network.ts')).networkCommands,
  },
  { words: ['tools'], load: async () => (await import('./tools/tools.ts')).toolCommands },
  { words: ['top', 'traffic'], load: async () => (await import('./traffic/traffic.ts')).trafficCommands },
  {
    words: ['authz'],
    load: async () => (await import('./authorization/authorization.ts')).authorizationCommands,
  },
  { words: ['pin'], load: async () => (await import('./pins/pins.ts')).pinCommands },
  { words: ['audit'], load: async () => (await import('./audit/audit.ts')).auditCommands },
  { words: ['outdated', 'upgrade'], load: async () => (await import('./updates/updates.ts')).updateCommands },
  { words: ['config'], load: async () => (await import('./config/config.ts')).configCommands },
  { words: ['secret'], load: async () => (await import('./secrets/secrets.ts')).secretCommands },
  { words: ['adopt', 'client'], load: async () => (await import('./clients/clients.ts')).clientCommands },
  { words: ['group'], load: async () => (await import('./groups/groups.ts')).groupCommands },
  {
    words: ['registry', 'search'],
    load: async () => (await import('./registry/registry.ts')).registryCommands,
  },
  { words: ['mcp'], load: async () => (await import('./mcp/mcp.ts')).mcpCommands },
  { words: ['proxy'], load: async () => (await import('./proxy/proxy.ts')).proxyCommands },
  { words: ['service'], load: async () => (await import('./service/service.ts')).serviceCommands },
  { words: ['cluster'], load: async () => (await import('./cluster/commands.ts')).clusterCommands },
  {
    words: ['__complete', 'completion', 'doctor', 'runtime', 'serve', 'ui', 'version'],
    load: async () => (await import('./system/system.ts')).systemCommands,
  },
];

/** Returns the part of `thv` that a command line needs, because loading everything takes longer than a short command. */
export async function programFor(words: readonly string[]): Promise<Program> {
  const first = words.find((word) => !word.startsWith('-')) ?? '';
  const needed = topics.filter((topic) => topic.words.includes(first));
  if (needed.length === 0) return (await import('./commands.ts')).program;
  const commands = await Promise.all(needed.map(({ load }) => load()));
  return { commands: commands.flat(), groups, examples, others };
}
