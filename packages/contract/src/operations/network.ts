import * as z from 'zod';
import { operation } from '../operation.ts';
import { WorkloadName } from '../schemas/names.ts';
import {
  ChangedPermissions,
  NetworkDecisionMade,
  NetworkDecisions,
  PermissionChange,
  Permissions,
} from '../schemas/network.ts';

const byName = z.object({ name: WorkloadName.meta({ description: 'The name of the workload.' }) });

const byVerdict = z.object({
  verdict: z.enum(['allowed', 'denied']).optional().meta({ description: 'Only decisions of this kind.' }),
});

export const networkOperations = {
  listNetworkDecisions: operation({
    method: 'GET',
    path: '/workloads/{name}/network',
    tag: 'workloads',
    summary: 'Read which hosts a server tried to reach',
    description:
      'What the egress gateway decided about each host and port, and the command that allows what was denied.',
    params: byName,
    query: byVerdict,
    success: { status: 200, description: 'The decisions.', body: NetworkDecisions },
    failures: ['not-found'],
  }),
  watchNetworkDecisions: operation({
    method: 'GET',
    path: '/workloads/{name}/network/events',
    tag: 'workloads',
    summary: 'Watch which hosts a server tries to reach',
    params: byName,
    query: byVerdict,
    success: {
      status: 200,
      description: 'Decisions as they are made, until the caller goes away.',
      body: { events: NetworkDecisionMade },
    },
    failures: ['not-found', 'unavailable'],
  }),
  getPermissions: operation({
    method: 'GET',
    path: '/workloads/{name}/permissions',
    tag: 'workloads',
    summary: 'Read what a server may access',
    params: byName,
    success: {
      status: 200,
      description: 'Its network, its mounts, and what is dangerous.',
      body: Permissions,
    },
    failures: ['not-found'],
  }),
  changePermissions: operation({
    method: 'POST',
    path: '/workloads/{name}/permissions',
    tag: 'workloads',
    summary: 'Change which hosts a server can reach',
    description: 'Applies to the next connection of the running server. Connections that are open stay open.',
    params: byName,
    body: PermissionChange,
    success: { status: 200, description: 'What it may access now.', body: ChangedPermissions },
    failures: ['not-found', 'conflict'],
  }),
};
