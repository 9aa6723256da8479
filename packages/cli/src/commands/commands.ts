import type { Command, Program } from '../command.ts';
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
import { examples, groups, others } from './topics.ts';
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

/** All of `thv`. */
export const program: Program = {
  commands,
  groups,
  examples,
  others,
};
