import { besideOf, finding, kinds, letGo, writeStatus } from './context.ts';
import type { Context, Controller, CustomResource, Outcome } from './context.ts';

/** The controller of groups. Groups never hold anything: a deleted group leaves its members running. */
export const groupController: Controller = { type: kinds.group, reconcile };

async function reconcile(context: Context, key: string, signal: AbortSignal): Outcome {
  const group = context.cache(kinds.group).get<CustomResource>(key);
  if (group === undefined) return;
  const pass = { context, resource: group, signal };
  if (group.metadata.deletionTimestamp !== undefined) return letGo(pass);
  const servers = [kinds.server, kinds.remoteProxy]
    .flatMap((kind) => context.cache(kind).all<CustomResource>())
    .filter((server) => groupOf(server) !== undefined && besideOf(server, groupOf(server) ?? '') === key)
    .map(({ metadata }) => metadata.name)
    .toSorted();
  const status = { phase: 'Ready', serverCount: servers.length, servers };
  const findings = [
    finding('MCPServersChecked', true, 'ListMCPServersCheckSucceeded', 'The members are known.'),
    finding('Ready', true, 'Ready', `The group has ${servers.length} members.`),
  ];
  await writeStatus(pass, status, findings);
}

/** The group that a server names. */
export function groupOf({ spec }: CustomResource): string | undefined {
  return (spec as { groupRef?: string } | undefined)?.groupRef;
}
