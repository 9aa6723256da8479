import * as z from 'zod';
import { operation } from '../operation.ts';
import { Capabilities } from '../schemas/capabilities.ts';
import { WorkloadName } from '../schemas/names.ts';
import { QueryFlag } from './query.ts';
import {
  CallOutcome,
  CallSource,
  ClientSessions,
  SessionId,
  Traffic,
  TrafficDetails,
  TrafficEvent,
  TrafficRecording,
  TrafficRecordingChange,
  Usage,
  UsageList,
} from '../schemas/traffic.ts';

const byName = z.object({ name: WorkloadName.meta({ description: 'The name of the workload.' }) });

const filters = {
  method: z.string().max(256).optional().meta({ description: 'Only calls of this method.' }),
  item: z
    .string()
    .max(4096)
    .optional()
    .meta({ description: 'Only calls about this tool, prompt, or resource.' }),
  client: z.string().max(256).optional().meta({ description: 'Only calls of clients with this name.' }),
  session: SessionId.optional(),
  outcome: CallOutcome.optional(),
  source: CallSource.optional(),
};

const relayed =
  'Passes the request to the workload, through the same rules as those of other clients. The API decides who may call it, as for every operation. The header `Authorization` is for the API and goes no further. If the workload authenticates its callers, the header `X-Workload-Authorization` must contain the credentials for it.';

export const trafficOperations = {
  relayMessage: operation({
    method: 'POST',
    path: '/workloads/{name}/mcp',
    tag: 'workloads',
    summary: 'Send an MCP message to a workload',
    description: `${relayed} Body and response are those of the streamable HTTP transport.`,
    params: byName,
    success: { status: 200, description: 'The response of the server.' },
    passThrough: true,
    failures: ['not-found', 'unavailable'],
  }),
  relayStream: operation({
    method: 'GET',
    path: '/workloads/{name}/mcp',
    tag: 'workloads',
    summary: 'Receive MCP messages of a workload',
    description: `${relayed} The response is the event stream of the session.`,
    params: byName,
    success: { status: 200, description: 'The event stream of the session.' },
    passThrough: true,
    failures: ['not-found', 'unavailable'],
  }),
  endRelaySession: operation({
    method: 'DELETE',
    path: '/workloads/{name}/mcp',
    tag: 'workloads',
    summary: 'End an MCP session with a workload',
    description: relayed,
    params: byName,
    success: { status: 204, description: 'The session has ended.' },
    passThrough: true,
    failures: ['not-found', 'unavailable'],
  }),
  getCapabilities: operation({
    method: 'GET',
    path: '/workloads/{name}/capabilities',
    tag: 'workloads',
    summary: 'List the tools, prompts, and resources of a server',
    description:
      'Returns what the server listed last, also if it is stopped. If it runs and never listed anything, ToolHive asks it.',
    params: byName,
    query: z.object({
      refresh: QueryFlag.optional().meta({ description: '`true` asks the running server again.' }),
    }),
    success: { status: 200, description: 'What the server offers.', body: Capabilities },
    failures: ['not-found'],
  }),
  listTraffic: operation({
    method: 'GET',
    path: '/workloads/{name}/traffic',
    tag: 'workloads',
    summary: 'Read the latest calls to a server',
    description:
      'Returns the newest calls that match all filters, the oldest of them first. The daemon keeps at most 1,000 calls of each workload, in memory.',
    params: byName,
    query: z.object({
      ...filters,
      before: z.coerce
        .number()
        .int()
        .min(1)
        .optional()
        .meta({ description: 'Only calls with a smaller ID.', type: 'integer' }),
      limit: z.coerce
        .number()
        .int()
        .min(1)
        .max(1000)
        .optional()
        .meta({ description: 'The maximum number of calls; 100 by default.', type: 'integer' }),
    }),
    success: { status: 200, description: 'The calls.', body: Traffic },
    failures: ['not-found'],
  }),
  watchTraffic: operation({
    method: 'GET',
    path: '/workloads/{name}/traffic/events',
    tag: 'workloads',
    summary: 'Watch the calls to a server',
    description:
      'Sends calls when they end. With `Last-Event-ID`, it begins with the first call after that one.',
    params: byName,
    query: z.object(filters),
    headers: z.object({
      'last-event-id': z
        .string()
        .max(40)
        .optional()
        .meta({ description: 'The ID of the last event that was received.' }),
    }),
    success: {
      status: 200,
      description: 'Calls, until the client disconnects or the workload is removed.',
      body: { events: TrafficEvent },
    },
    failures: ['not-found', 'unavailable'],
  }),
  getTrafficEntry: operation({
    method: 'GET',
    path: '/workloads/{name}/traffic/{id}',
    tag: 'workloads',
    summary: 'Read one call to a server',
    params: byName.extend({
      id: z.coerce
        .number()
        .int()
        .min(1)
        .meta({ description: 'The ID of the call.', type: 'integer', examples: [1] }),
    }),
    success: { status: 200, description: 'The call.', body: TrafficDetails },
    failures: ['not-found'],
  }),
  changeTrafficRecording: operation({
    method: 'PUT',
    path: '/workloads/{name}/traffic/recording',
    tag: 'workloads',
    summary: 'Switch the recording of bodies on or off',
    description:
      'Bodies are recorded in memory, without secrets. The recording is off by default, and after a restart of the daemon. Switching it off forgets all recorded bodies.',
    params: byName,
    body: TrafficRecordingChange,
    success: { status: 200, description: 'What is recorded from now on.', body: TrafficRecording },
    failures: ['not-found', 'conflict'],
  }),
  listSessions: operation({
    method: 'GET',
    path: '/workloads/{name}/sessions',
    tag: 'workloads',
    summary: 'List the sessions of a workload',
    params: byName,
    success: { status: 200, description: 'The sessions.', body: ClientSessions },
    failures: ['not-found'],
  }),
  endSession: operation({
    method: 'DELETE',
    path: '/workloads/{name}/sessions/{id}',
    tag: 'workloads',
    summary: 'End a session of a workload',
    description: 'Its open requests fail, and its client has to begin another one.',
    params: byName.extend({ id: SessionId }),
    success: { status: 204, description: 'The session has ended.' },
    failures: ['not-found'],
  }),
  getUsage: operation({
    method: 'GET',
    path: '/workloads/{name}/usage',
    tag: 'workloads',
    summary: 'Read how much a workload uses',
    params: byName,
    success: { status: 200, description: 'Memory, processor time, and calls.', body: Usage },
    failures: ['not-found'],
  }),
  listUsage: operation({
    method: 'GET',
    path: '/usage',
    tag: 'workloads',
    summary: 'Read how much all running workloads use',
    success: { status: 200, description: 'The usage of each running workload.', body: UsageList },
    failures: [],
  }),
};
