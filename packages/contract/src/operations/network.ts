import * as z from 'zod';
import { operation } from '../operation.ts';
import { WorkloadName } from '../schemas/names.ts';
import {
  ChangedPermissions,
  LearningProposal,
  NetworkDecisionMade,
  NetworkDecisions,
  PermissionChange,
  Permissions,
  StartedLearning,
  StopLearning,
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
  startLearning: operation({
    method: 'PUT',
    path: '/workloads/{name}/learning',
    tag: 'workloads',
    summary: 'Put a workload into learning mode',
    description:
      'The server reaches every public host until learning is stopped, and each host is recorded. A workload that is in learning mode stays in it.',
    params: byName,
    success: { status: 200, description: 'The workload is in learning mode.', body: StartedLearning },
    failures: ['not-found', 'conflict'],
  }),
  getLearning: operation({
    method: 'GET',
    path: '/workloads/{name}/learning',
    tag: 'workloads',
    summary: 'Read the profile that a server needs',
    description: 'The hosts and ports that the server has reached in learning mode so far.',
    params: byName,
    success: { status: 200, description: 'The proposal.', body: LearningProposal },
    failures: ['not-found', 'conflict'],
  }),
  stopLearning: operation({
    method: 'POST',
    path: '/workloads/{name}/learning/stop',
    tag: 'workloads',
    summary: 'End learning mode',
    description: 'With hosts and ports from the proposal, these become the rules of the workload.',
    params: byName,
    body: StopLearning,
    success: { status: 200, description: 'What the workload may access now.', body: ChangedPermissions },
    failures: ['not-found', 'conflict'],
  }),
};
