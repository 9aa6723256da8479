import * as z from 'zod';

const when = (description: string) => z.string().meta({ description, format: 'date-time' });

/** The origin of a call: an MCP client, or the API relay, which the web UI uses. */
export const CallSource = z.enum(['client', 'ui']).meta({
  description: '`ui` for calls through the API relay, `client` for all other calls.',
});
export type CallSource = z.infer<typeof CallSource>;

/** The name and version that a client reports. */
export const CallingClient = z.object({ name: z.string(), version: z.string().optional() }).meta({
  id: 'CallingClient',
  description: 'The name and version that a client reports. ToolHive does not verify them.',
});
export type CallingClient = z.infer<typeof CallingClient>;

/** Identifies a session in the API. It is a keyed hash of the session ID, which only the client knows. */
export const SessionId = z
  .string()
  .regex(/^[0-9a-f]{16}$/, 'must be 16 hexadecimal digits')
  .meta({
    description: 'The session ID in the API, which differs from the `Mcp-Session-Id`.',
    examples: ['2c26b46b68ffc68f'],
  });

export const CallOutcome = z.enum(['ok', 'error', 'denied', 'cancelled']).meta({
  description:
    '`error`: the server or the proxy answered with an error, or the tool reported one. `denied`: a rule of the workload refused it. `cancelled`: the client cancelled it or disconnected.',
});
export type CallOutcome = z.infer<typeof CallOutcome>;

export const TrafficEntry = z
  .object({
    id: z.int().meta({ description: 'The call ID, which only increases.' }),
    at: when('The time of the request.'),
    source: CallSource,
    direction: z.enum(['to-server', 'to-client']).meta({
      description: '`to-client` for requests of the server, such as sampling and elicitation.',
    }),
    client: CallingClient.optional(),
    session: SessionId.optional(),
    protocol_version: z.string().optional(),
    method: z.string().meta({
      description: 'The method of the message, or the HTTP method if ToolHive did not read the message.',
    }),
    kind: z
      .enum(['tool', 'prompt', 'resource', 'skill'])
      .optional()
      .meta({ description: 'The type of the item.' }),
    name: z.string().optional().meta({
      description: 'The name of the tool or prompt in the request, or the URI of the resource.',
    }),
    duration_ms: z.number().optional().meta({ description: 'The time until the response.' }),
    request_bytes: z.int().optional(),
    response_bytes: z.int().optional(),
    outcome: CallOutcome,
    reason: z.string().optional().meta({ description: 'The reason for an outcome other than `ok`.' }),
    has_bodies: z.boolean().meta({ description: 'Whether the bodies were recorded.' }),
    is_own_read: z.boolean().meta({
      description:
        'Whether ToolHive or the web UI read something on its own, such as a listing. Own reads do not count as calls.',
    }),
  })
  .meta({
    id: 'TrafficEntry',
    description: 'One request or notification, without its content. All texts come from clients and servers.',
    examples: [
      {
        id: 7,
        at: '2026-01-31T09:30:00.000Z',
        source: 'client',
        direction: 'to-server',
        client: { name: 'cursor', version: '1.2.0' },
        session: '2c26b46b68ffc68f',
        protocol_version: '2025-11-25',
        method: 'tools/call',
        kind: 'tool',
        name: 'add',
        duration_ms: 12.5,
        request_bytes: 96,
        response_bytes: 84,
        outcome: 'ok',
        has_bodies: false,
        is_own_read: false,
      },
    ],
  });
export type TrafficEntry = z.infer<typeof TrafficEntry>;

export const TrafficRecording = z
  .object({
    bodies: z.boolean().meta({ description: 'Whether the bodies of calls are recorded.' }),
    max_body_bytes: z.int().meta({ description: 'The maximum size of a recorded body.' }),
    max_total_bytes: z.int().meta({
      description: 'The maximum size of all recorded bodies. ToolHive removes the oldest bodies first.',
    }),
  })
  .meta({ id: 'TrafficRecording', description: 'Whether bodies are recorded, and the limits.' });
export type TrafficRecording = z.infer<typeof TrafficRecording>;

export const TrafficRecordingChange = z.object({ bodies: z.boolean() }).meta({
  id: 'TrafficRecordingChange',
  description: 'The new recording state.',
  examples: [{ bodies: true }],
});

export const Traffic = z
  .object({
    entries: z.array(TrafficEntry),
    has_more: z.boolean().meta({ description: 'Whether older entries match. Use `before` to read them.' }),
    oldest_at: when('The time of the oldest kept call of the workload. Absent without calls.').optional(),
    is_read: z.boolean().meta({
      description:
        'False if no rule of the workload requires reading messages. In this case, entries contain only data from HTTP headers.',
    }),
    recording: TrafficRecording,
  })
  .meta({ id: 'Traffic', description: 'Calls of a workload, the oldest first.' });
export type Traffic = z.infer<typeof Traffic>;

export const RecordedBody = z
  .object({
    text: z.string().optional().meta({
      description: 'The message as JSON, with `[REDACTED]` for secrets. Absent if it was too large.',
    }),
    bytes: z.int().meta({ description: 'The size of the complete body.' }),
  })
  .meta({ id: 'RecordedBody', description: 'A recorded body.' });
export type RecordedBody = z.infer<typeof RecordedBody>;

export const TrafficDetails = z
  .object({
    entry: TrafficEntry,
    request: RecordedBody.optional(),
    response: RecordedBody.optional(),
  })
  .meta({
    id: 'TrafficDetails',
    description: 'One call, with its bodies if they were recorded.',
  });
export type TrafficDetails = z.infer<typeof TrafficDetails>;

/** A completed call, or a change of the list of calls. */
export const TrafficEvent = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('entry'), entry: TrafficEntry }),
    z.object({ type: z.literal('recording'), bodies: z.boolean() }),
    z.object({ type: z.literal('reset') }),
  ])
  .meta({
    id: 'TrafficEvent',
    description:
      'A completed call, or a change of the recording. `reset` means that earlier entries are missing, so a client must read the list again.',
  });
export type TrafficEvent = z.infer<typeof TrafficEvent>;

export const ClientSession = z
  .object({
    id: SessionId,
    client: CallingClient.optional(),
    source: CallSource,
    protocol_version: z.string(),
    started_at: when('The start time.'),
    last_message_at: when('The time of the last message from the client.'),
    in_flight: z.int().meta({ description: 'The number of requests without a response.' }),
    process: z.enum(['own', 'shared']).meta({
      description: 'Whether the session has a separate server process or shares one.',
    }),
  })
  .meta({
    id: 'ClientSession',
    description: 'A session of a client.',
    examples: [
      {
        id: '2c26b46b68ffc68f',
        client: { name: 'cursor', version: '1.2.0' },
        source: 'client',
        protocol_version: '2025-11-25',
        started_at: '2026-01-31T09:30:00.000Z',
        last_message_at: '2026-01-31T09:31:00.000Z',
        in_flight: 0,
        process: 'own',
      },
    ],
  });
export type ClientSession = z.infer<typeof ClientSession>;

export const ClientSessions = z.object({ sessions: z.array(ClientSession) }).meta({
  id: 'ClientSessions',
  description:
    'The sessions of a workload, the latest first. Clients with protocol version 2026-07-28 have no sessions. Sessions of HTTP servers are missing if ToolHive does not read their messages.',
});
export type ClientSessions = z.infer<typeof ClientSessions>;

export const ToolUsage = z
  .object({
    name: z.string().meta({ description: 'The tool name for clients.' }),
    calls: z.int(),
    errors: z.int().meta({ description: 'The number of calls with an outcome other than `ok`.' }),
    p50_ms: z.number().meta({ description: 'The median duration of the latest calls.' }),
    last_at: when('The time of the last call.'),
  })
  .meta({ id: 'ToolUsage', description: 'The usage of a tool.' });
export type ToolUsage = z.infer<typeof ToolUsage>;

export const Usage = z
  .object({
    name: z.string().meta({ description: 'The workload.' }),
    at: when('The time of the measurement.'),
    runtime: z
      .string()
      .optional()
      .meta({ description: 'The name of the runtime. Absent for remote servers.' }),
    memory_bytes: z.int().optional().meta({ description: 'The memory that the server uses.' }),
    memory_limit_bytes: z.int().optional(),
    cpu_ms: z.number().optional().meta({ description: 'The processor time since the server started.' }),
    cpu_percent: z.number().optional().meta({
      description: 'The processor time since the previous measurement. 100 is one processor.',
    }),
    processes: z.int().optional().meta({ description: 'The number of processes, of all sessions.' }),
    since: when('The start of the count: the time when the daemon first ran the workload.'),
    calls: z.int().meta({ description: 'The number of requests of clients.' }),
    errors: z.int().meta({ description: 'The number of requests with an outcome other than `ok`.' }),
    sessions: z.int().meta({ description: 'The number of open sessions.' }),
    tools: z.array(ToolUsage).meta({ description: 'The tools, sorted by number of calls, at most 200.' }),
  })
  .meta({
    id: 'Usage',
    description: 'The resource usage and the calls of a workload. Absent members are unknown.',
    examples: [
      {
        name: 'filesystem',
        at: '2026-01-31T09:31:00.000Z',
        runtime: 'process',
        memory_bytes: 62914560,
        cpu_ms: 840,
        cpu_percent: 1.5,
        processes: 2,
        since: '2026-01-31T09:30:00.000Z',
        calls: 12,
        errors: 1,
        sessions: 1,
        tools: [{ name: 'read_file', calls: 9, errors: 1, p50_ms: 4.2, last_at: '2026-01-31T09:30:58.000Z' }],
      },
    ],
  });
export type Usage = z.infer<typeof Usage>;

export const UsageList = z
  .object({ usage: z.array(Usage) })
  .meta({ id: 'UsageList', description: 'The usage of running workloads, sorted by name.' });
