import type { Command, CommandGroup, Program } from '../command.ts';
import { auditCommands } from './audit/audit.ts';
import { clientCommands } from './clients/clients.ts';
import { clusterCommands } from './cluster/commands.ts';
import { configCommands } from './config/config.ts';
import { groupCommands } from './groups/groups.ts';
import { mcpCommands } from './mcp/mcp.ts';
import { authorizationCommands } from './authorization/authorization.ts';
import { networkCommands } from './network/network.ts';
import { pinCommands } from './pins/pins.ts';
import { projectCommands } from './projects/projects.ts';
import { proxyCommands } from './proxy/proxy.ts';
import { registryCommands } from './registry/registry.ts';
import { secretCommands } from './secrets/secrets.ts';
import { serviceCommands } from './service/service.ts';
import { systemCommands } from './system/system.ts';
import { toolCommands } from './tools/tools.ts';
import { trafficCommands } from './traffic/traffic.ts';
import { updateCommands } from './updates/updates.ts';
import { workloadCommands } from './workloads/workloads.ts';

const commands: readonly Command[] = [
  ...workloadCommands,
  ...projectCommands,
  ...networkCommands,
  ...toolCommands,
  ...trafficCommands,
  ...authorizationCommands,
  ...pinCommands,
  ...auditCommands,
  ...updateCommands,
  ...configCommands,
  ...secretCommands,
  ...clientCommands,
  ...groupCommands,
  ...registryCommands,
  ...mcpCommands,
  ...proxyCommands,
  ...serviceCommands,
  ...clusterCommands,
  ...systemCommands,
];

/** The words that only lead to others. */
const groups: readonly CommandGroup[] = [
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

/** All of `thv`. */
export const program: Program = {
  commands,
  groups,
  examples: ['thv search files', 'thv run filesystem --volume ~/notes:/projects', 'thv list', 'thv doctor'],
};
