import * as z from 'zod';

const when = (description: string) => z.string().meta({ description, format: 'date-time' });

/** Where a call came from: an MCP client, or the relay of the API, which the web UI uses. */
export const CallSource = z.enum(['client', 'ui']).meta({
  description: '`ui` for calls through the relay of the API, `client` for all others.',
});
export type CallSource = z.infer<typeof CallSource>;

/** What a client says about itself. */
export const CallingClient = z
  .object({ name: z.string(), version: z.string().optional() })
  .meta({ id: 'CallingClient', description: 'A client, as it introduces itself. Nothing verifies it.' });
export type CallingClient = z.infer<typeof CallingClient>;

/** Identifies a session in the API. It is a keyed hash of the session ID, which only the client knows. */
export const SessionId = z
  .string()
  .regex(/^[0-9a-f]{16}$/, 'must be 16 hexadecimal digits')
  .meta({
    description: 'The ID of the session in the API, which is not its `Mcp-Session-Id`.',
    examples: ['2c26b46b68ffc68f'],
  });

export const CallOutcome = z.enum(['ok', 'error', 'denied', 'cancelled']).meta({
  description:
    '`error`: the server or the proxy answered with an error, or the tool reported one. `denied`: a rule of the workload refused it. `cancelled`: the client cancelled it or disconnected.',
});
export type CallOutcome = z.infer<typeof CallOutcome>;

export const TrafficEntry = z
  .object({
    id: z.int().meta({ description: 'Only increases while the daemon runs.' }),
    at: when('When the request arrived.'),
    source: CallSource,
    direction: z.enum(['to-server', 'to-client']).meta({
      description: '`to-client` for requests of the server, such as sampling and elicitation.',
    }),
    client: CallingClient.optional(),
    session: SessionId.optional(),
    protocol_version: z.string().optional(),
    method: z.string().meta({
      description: 'The method of the message, or the HTTP method if the message was passed on unread.',
    }),
    kind: z.enum(['tool', 'prompt', 'resource']).optional().meta({ description: 'What it is about.' }),
    name: z.string().optional().meta({
      description: 'The tool or the prompt by name, as the client named it, or the resource by URI.',
    }),
    duration_ms: z.number().optional().meta({ description: 'The time until the response.' }),
    request_bytes: z.int().optional(),
    response_bytes: z.int().optional(),
    outcome: CallOutcome,
    reason: z.string().optional().meta({ description: 'Why it is not `ok`, in short.' }),
    has_bodies: z.boolean().meta({ description: 'Whether the bodies were recorded.' }),
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
      },
    ],
  });
export type TrafficEntry = z.infer<typeof TrafficEntry>;

export const TrafficRecording = z
  .object({
    bodies: z.boolean().meta({ description: 'Whether the bodies of calls are recorded.' }),
    max_body_bytes: z.int().meta({ description: 'The size up to which one body is recorded.' }),
    max_total_bytes: z
      .int()
      .meta({ description: 'The size of all recorded bodies. The oldest ones are forgotten first.' }),
  })
  .meta({ id: 'TrafficRecording', description: 'Whether bodies are recorded, and how much of them.' });
export type TrafficRecording = z.infer<typeof TrafficRecording>;

export const TrafficRecordingChange = z.object({ bodies: z.boolean() }).meta({
  id: 'TrafficRecordingChange',
  description: 'Whether the bodies of calls are recorded from now on.',
  examples: [{ bodies: true }],
});

export const Traffic = z
  .object({
    entries: z.array(TrafficEntry),
    has_more: z.boolean().meta({ description: 'Whether older entries match. `before` reads them.' }),
    is_read: z.boolean().meta({
      description:
        'False if no rule of the workload needs to read messages, so that they pass unread. Then an entry contains only what the HTTP headers say.',
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
    bytes: z.int().meta({ description: 'The size of the whole body.' }),
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

/** A call as it ends, or what changes about the list of calls. */
export const TrafficEvent = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('entry'), entry: TrafficEntry }),
    z.object({ type: z.literal('recording'), bodies: z.boolean() }),
    z.object({ type: z.literal('reset') }),
  ])
  .meta({
    id: 'TrafficEvent',
    description:
      'A call that has ended, or a change of the recording. `reset` means that entries are missing before this event, so that the list must be read again.',
  });
export type TrafficEvent = z.infer<typeof TrafficEvent>;

export const ClientSession = z
  .object({
    id: SessionId,
    client: CallingClient.optional(),
    source: CallSource,
    protocol_version: z.string(),
    started_at: when('When it began.'),
    last_message_at: when('When the client sent its last message.'),
    in_flight: z.int().meta({ description: 'How many requests of the client have no response yet.' }),
    process: z.enum(['own', 'shared']).meta({
      description: 'Whether the session has a server process of its own, or shares one.',
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
    'The sessions of a workload, the latest first. Clients of the protocol version 2026-07-28 have none, and neither have sessions of HTTP servers whose messages pass unread.',
});
export type ClientSessions = z.infer<typeof ClientSessions>;

export const ToolUsage = z
  .object({
    name: z.string().meta({ description: 'The name under which clients call the tool.' }),
    calls: z.int(),
    errors: z.int().meta({ description: 'Calls whose outcome is not `ok`.' }),
    p50_ms: z.number().meta({ description: 'The median duration, of the latest calls.' }),
    last_at: when('When it was called last.'),
  })
  .meta({ id: 'ToolUsage', description: 'How often clients called one tool.' });
export type ToolUsage = z.infer<typeof ToolUsage>;

export const Usage = z
  .object({
    name: z.string().meta({ description: 'The workload.' }),
    at: when('When it was measured.'),
    runtime: z.string().optional().meta({ description: 'docker or process. Absent for remote servers.' }),
    memory_bytes: z.int().optional().meta({ description: 'The memory that the server uses.' }),
    memory_limit_bytes: z.int().optional(),
    cpu_ms: z.number().optional().meta({ description: 'The processor time since the server started.' }),
    cpu_percent: z.number().optional().meta({
      description: 'The processor time since the previous measurement. 100 is one processor.',
    }),
    processes: z.int().optional().meta({ description: 'The number of processes, of all sessions.' }),
    since: when('The time from which calls are counted: when the daemon first ran the workload.'),
    calls: z.int().meta({ description: 'The number of requests of clients.' }),
    errors: z.int().meta({ description: 'The number of those whose outcome is not `ok`.' }),
    sessions: z.int().meta({ description: 'The number of open sessions.' }),
    tools: z.array(ToolUsage).meta({ description: 'The tools by the number of calls, at most 200.' }),
  })
  .meta({
    id: 'Usage',
    description: 'What a workload uses of this machine, and how much it is used. Absent members are unknown.',
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
  .meta({ id: 'UsageList', description: 'The usage of workloads that run, sorted by name.' });
