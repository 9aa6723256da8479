import { notFound } from './failure.ts';
import type { ThvError } from './failure.ts';
import type { OperationId } from './operations/operations.ts';
import type { Advice, Fix } from './schemas/fix.ts';

/** Returns a hint together with the operations for what the hint says. */
export function advice(hint: string, ...fixes: readonly Fix[]): Advice {
  return { hint, fixes };
}

/** A fix whose operation exists. */
const fix = (label: string, operation: OperationId, details: Omit<Fix, 'label' | 'operation'> = {}): Fix => ({
  label,
  operation,
  ...details,
});

const of =
  (label: string, operation: OperationId) =>
  (name: string): Fix =>
    fix(label, operation, { parameters: { name } });

/** Every fix that ToolHive proposes, by what it does. Names are those of workloads or clients. */
export const fixes = {
  start: of('Start', 'startWorkload'),
  restart: of('Restart', 'restartWorkload'),
  remove: of('Remove', 'deleteWorkload'),
  edit: of('Edit', 'editWorkload'),
  showLogs: of('Show the logs', 'getWorkloadLogs'),
  showProxyLogs: of('Show the log of the proxy', 'getProxyLogs'),
  showDetails: of('Show the details', 'diagnoseWorkload'),
  showConnections: of('Show the connections', 'listNetworkDecisions'),
  reviewTools: of('Review the changes', 'getToolPins'),
  startLearning: of('Start learning', 'startLearning'),
  stopLearning: of('Stop learning', 'stopLearning'),
  tighten: (name: string): Fix =>
    fix('Allow only the used hosts', 'changePermissions', { parameters: { name }, body: { tighten: true } }),
  showClient: of('Show the client', 'diagnoseClient'),
  connectClient: (name: string): Fix => fix('Connect', 'createClient', { body: { name } }),
  connectClients: fix('Connect clients', 'registerClients'),
  adopt: fix('Take the servers over', 'planAdoption'),
  addServer: fix('Add a server', 'createWorkload'),
  showWorkloads: fix('Show all servers', 'listWorkloads'),
  showGroups: fix('Show all groups', 'listGroups'),
  setUpSecrets: fix('Set up secrets', 'setupSecrets'),
  unlockSecrets: fix('Unlock the secrets', 'setupSecrets'),
  showSecrets: fix('Show the secrets', 'listSecrets'),
  showRegistry: fix('Show the registry', 'listRegistries'),
} as const;

/** The failure for a workload that does not exist, or that the caller may not see, which must not differ. */
export function workloadNotFound(name: string): ThvError {
  return notFound(
    `workload ${name} not found`,
    advice('run thv list --all to see all workloads', fixes.showWorkloads),
  );
}
