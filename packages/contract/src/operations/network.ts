import * as z from 'zod';
import { operation } from '../operation.ts';
import { WorkloadName } from '../schemas/names.ts';
import { search, timeRange } from './query.ts';
import {
  ChangedPermissions,
  LearningProposal,
  LearningTime,
  NetworkDecisionMade,
  NetworkDecisions,
  PermissionChange,
  Permissions,
  StartedLearning,
  StopLearning,
} from '../schemas/network.ts';

const byName = z.object({ name: WorkloadName.meta({ description: 'The workload name.' }) });

const byVerdict = z.object({
  verdict: z
    .enum(['allowed', 'denied'])
    .optional()
    .meta({ description: 'Only decisions with this verdict.' }),
});

export const networkOperations = {
  listNetworkDecisions: operation({
    method: 'GET',
    path: '/workloads/{name}/network',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'List the network decisions for a server',
    description:
      'Returns the decision of the egress gateway for each host and port, and a command that allows each denied connection.',
    params: byName,
    query: byVerdict.extend({
      ...timeRange('decisions that were also made'),
      search: search(
        'Only decisions whose host, port, rule, or reason contains this text, in any letter case.',
      ),
    }),
    success: { status: 200, description: 'The decisions.', body: NetworkDecisions },
    failures: ['not-found'],
  }),
  watchNetworkDecisions: operation({
    method: 'GET',
    path: '/workloads/{name}/network/events',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'Watch the network decisions for a server',
    params: byName,
    query: byVerdict,
    success: {
      status: 200,
      description: 'New decisions, until the client disconnects.',
      body: { events: NetworkDecisionMade },
    },
    failures: ['not-found', 'unavailable'],
  }),
  getPermissions: operation({
    method: 'GET',
    path: '/workloads/{name}/permissions',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'Get workload permissions',
    params: byName,
    success: {
      status: 200,
      description: 'Its network access, its mounts, and its dangerous permissions.',
      body: Permissions,
    },
    failures: ['not-found'],
  }),
  changePermissions: operation({
    method: 'POST',
    path: '/workloads/{name}/permissions',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Change the allowed hosts',
    description: 'Applies to new connections of the running server. Open connections are not closed.',
    params: byName,
    body: PermissionChange,
    success: { status: 200, description: 'The changed permissions.', body: ChangedPermissions },
    failures: ['not-found', 'conflict'],
  }),
  startLearning: operation({
    method: 'PUT',
    path: '/workloads/{name}/learning',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Start learning mode for a workload',
    description:
      'The server can reach every public host until learning mode ends, and ToolHive records each host. A workload that is already in learning mode continues, with a new end if the request contains a time. At the end, the server has its earlier access again, and ToolHive keeps the record until you apply or discard it.',
    params: byName,
    query: z.object({ seconds: LearningTime.optional() }),
    success: { status: 200, description: 'The workload is in learning mode.', body: StartedLearning },
    failures: ['not-found', 'conflict'],
  }),
  getLearning: operation({
    method: 'GET',
    path: '/workloads/{name}/learning',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'Get the learned profile',
    description:
      'The hosts, ports, and mounts that the server has used in learning mode, also after its time has ended.',
    params: byName,
    success: { status: 200, description: 'The proposal.', body: LearningProposal },
    failures: ['not-found', 'conflict'],
  }),
  stopLearning: operation({
    method: 'POST',
    path: '/workloads/{name}/learning/stop',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Stop learning mode',
    description:
      'Hosts and ports from the proposal replace the network rules of the workload. Without hosts and ports, the record is discarded.',
    params: byName,
    body: StopLearning,
    success: { status: 200, description: 'The changed permissions.', body: ChangedPermissions },
    failures: ['not-found', 'conflict'],
  }),
};
