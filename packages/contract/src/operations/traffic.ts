import * as z from 'zod';
import { operation } from '../operation.ts';
import { Capabilities } from '../schemas/capabilities.ts';
import { WorkloadName } from '../schemas/names.ts';
import { QueryFlag, search, timeRange } from './query.ts';
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

const byName = z.object({ name: WorkloadName.meta({ description: 'The workload name.' }) });

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
  search: search('Only calls whose client, method, item, or reason contains this text, in any letter case.'),
  own_reads: QueryFlag.optional().meta({
    description: '`true` includes the own reads of ToolHive and of the web UI, such as listings.',
  }),
};

const relayed =
  'Forwards the request to the workload under the same rules as requests of other clients. The API authenticates the caller, as for every operation, and does not forward the header `Authorization`. If the workload requires authentication, the header `X-Workload-Authorization` must contain the credentials for the workload.';

export const trafficOperations = {
  relayMessage: operation({
    method: 'POST',
    path: '/workloads/{name}/mcp',
    tag: 'workloads',
    access: 'write',
    command: 'none',
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
    access: 'write', // the stream of a session contains data that read-only callers cannot request
    command: 'none',
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
    access: 'write',
    command: 'none',
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
    access: 'read',
    command: 'none',
    summary: 'List tools, prompts, and resources',
    description:
      'Returns the last listing of the server, including for a stopped server. If a running server has no listing, ToolHive requests one.',
    params: byName,
    query: z.object({
      refresh: QueryFlag.optional().meta({
        description: '`true` requests a new listing from the running server.',
      }),
    }),
    success: { status: 200, description: 'The tools, prompts, and resources.', body: Capabilities },
    failures: ['not-found'],
  }),
  listTraffic: operation({
    method: 'GET',
    path: '/workloads/{name}/traffic',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'List the latest calls to a server',
    description:
      'Returns the newest calls that match all filters, the oldest of them first. The daemon keeps calls for 24 hours, at most 100,000 of all workloads, without their content. Without `own_reads` and `source`, own reads of ToolHive are left out.',
    params: byName,
    query: z.object({
      ...filters,
      ...timeRange('calls'),
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
        .meta({ description: 'The maximum number of calls, 100 by default.', type: 'integer' }),
    }),
    success: { status: 200, description: 'The calls.', body: Traffic },
    failures: ['not-found'],
  }),
  watchTraffic: operation({
    method: 'GET',
    path: '/workloads/{name}/traffic/events',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'Watch the calls to a server',
    description:
      'Sends each call when it ends. With `Last-Event-ID`, the stream starts with the first call after that ID.',
    params: byName,
    query: z.object(filters),
    headers: z.object({
      'last-event-id': z
        .string()
        .max(40)
        .optional()
        .meta({ description: 'The ID of the last received event.' }),
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
    access: 'read-bodies',
    command: 'none',
    summary: 'Get a call to a server',
    params: byName.extend({
      id: z.coerce
        .number()
        .int()
        .min(1)
        .meta({ description: 'The call ID.', type: 'integer', examples: [1] }),
    }),
    success: { status: 200, description: 'The call.', body: TrafficDetails },
    failures: ['not-found'],
  }),
  changeTrafficRecording: operation({
    method: 'PUT',
    path: '/workloads/{name}/traffic/recording',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'Turn the recording of bodies on or off',
    description:
      'ToolHive records bodies in memory, without secrets. The recording is off by default and after a restart of the daemon. Turning the recording off removes all recorded bodies.',
    params: byName,
    body: TrafficRecordingChange,
    success: { status: 200, description: 'The recording state.', body: TrafficRecording },
    failures: ['not-found', 'conflict'],
  }),
  listSessions: operation({
    method: 'GET',
    path: '/workloads/{name}/sessions',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'List workload sessions',
    params: byName,
    success: { status: 200, description: 'The sessions.', body: ClientSessions },
    failures: ['not-found'],
  }),
  endSession: operation({
    method: 'DELETE',
    path: '/workloads/{name}/sessions/{id}',
    tag: 'workloads',
    access: 'write',
    command: 'none',
    summary: 'End a workload session',
    description: 'Its open requests fail, and its client must start a new session.',
    params: byName.extend({ id: SessionId }),
    success: { status: 204, description: 'The session has ended.' },
    failures: ['not-found'],
  }),
  getUsage: operation({
    method: 'GET',
    path: '/workloads/{name}/usage',
    tag: 'workloads',
    access: 'read',
    command: 'none',
    summary: 'Get workload resource usage',
    params: byName,
    success: { status: 200, description: 'Memory, processor time, and calls.', body: Usage },
    failures: ['not-found'],
  }),
  listUsage: operation({
    method: 'GET',
    path: '/usage',
    tag: 'workloads',
    access: 'read-items',
    command: 'none',
    summary: 'List the resource usage of all running workloads',
    success: { status: 200, description: 'The usage of each running workload.', body: UsageList },
    failures: [],
  }),
};
