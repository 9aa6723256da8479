import * as z from 'zod';

const when = (description: string) => z.string().meta({ description, format: 'date-time' });

/** The groups of figures inside of each workload. */
export const HistoryGrouping = z.enum(['workload', 'tool', 'client', 'host']).meta({
  description:
    '`workload`: all calls of a workload. `tool`, `client`: the same for each tool and client of a workload. `host`: the connections of a server to each host.',
});
export type HistoryGrouping = z.infer<typeof HistoryGrouping>;

const totals = {
  calls: z.int().meta({
    description: 'The number of requests of clients. With `by=host`, the number of allowed connections.',
  }),
  errors: z.int().meta({
    description: 'The number of requests with an outcome other than `ok`. This includes denied requests.',
  }),
  denied: z.int().meta({
    description: 'The number of denied requests. With `by=host`, the number of denied connections.',
  }),
  bytes: z.int().meta({
    description:
      'The size of requests and responses. With `by=host`, the bytes in both directions on closed connections.',
  }),
};

const duration = (kind: string) =>
  `The ${kind} duration of requests in milliseconds, with an error of up to 10 %.`;

export const HistoryPoints = z
  .object({
    at: z.array(z.int()).meta({
      description: 'The steps with figures: 0 is the step that begins at `from` of the response.',
    }),
    calls: z.array(z.int()).meta({ description: 'The number of calls in each of these steps.' }),
    errors: z.array(z.int()).optional().meta({ description: 'Absent if no call had an error.' }),
    denied: z.array(z.int()).optional().meta({ description: 'Absent if nothing was denied.' }),
    bytes: z.array(z.int()).optional().meta({ description: 'Absent if no size is known.' }),
    p50_ms: z
      .array(z.number().nullable())
      .optional()
      .meta({ description: `${duration('median')} Absent if no duration is known.` }),
    p95_ms: z
      .array(z.number().nullable())
      .optional()
      .meta({ description: 'The 95th percentile of the durations. Absent if no duration is known.' }),
  })
  .meta({
    id: 'HistoryPoints',
    description: 'The figures of the steps that have some. All arrays have the same length.',
  });
export type HistoryPoints = z.infer<typeof HistoryPoints>;

export const HistorySeries = z
  .object({
    workload: z.string().meta({ description: 'The name of the workload.' }),
    name: z.string().optional().meta({
      description:
        'The tool, the client, or the host. Absent with `by=workload`, for `is_rest`, and if a client did not report its name. The name comes from a server or a client.',
    }),
    is_rest: z
      .literal(true)
      .optional()
      .meta({ description: 'All names beyond the limit of names in one hour.' }),
    ...totals,
    total_ms: z.int().meta({ description: 'The sum of the durations of all requests in milliseconds.' }),
    last_at: when('The begin of the last step with figures.'),
    denied_connections: z
      .int()
      .optional()
      .meta({ description: 'With `by=workload`, the number of denied connections of the server.' }),
    p50_ms: z
      .number()
      .optional()
      .meta({ description: duration('median') }),
    p95_ms: z.number().optional().meta({ description: 'The 95th percentile of the durations.' }),
    points: HistoryPoints.optional().meta({ description: 'Absent with `totals=true`.' }),
  })
  .meta({
    id: 'HistorySeries',
    description: 'The figures of a workload, or of one tool, client, or host of a workload.',
  });
export type HistorySeries = z.infer<typeof HistorySeries>;

export const History = z
  .object({
    by: HistoryGrouping,
    from: when('The begin of the first step.'),
    to: when('The end of the last step.'),
    step_seconds: z.union([z.literal(60), z.literal(3600)]).meta({ description: 'The length of a step.' }),
    series: z.array(HistorySeries).meta({
      description: 'Only workloads and names with figures in this time. Those with the most calls are first.',
    }),
    is_complete: z.boolean().meta({
      description: 'False if series with fewer calls are missing, because there are more than 5,000 series.',
    }),
  })
  .meta({
    id: 'History',
    description: 'Figures about calls and connections over time, without the own reads of ToolHive.',
    examples: [
      {
        by: 'tool',
        from: '2026-01-31T09:00:00.000Z',
        to: '2026-01-31T10:00:00.000Z',
        step_seconds: 60,
        series: [
          {
            workload: 'filesystem',
            name: 'read_file',
            calls: 9,
            errors: 1,
            denied: 0,
            bytes: 4096,
            total_ms: 42,
            last_at: '2026-01-31T09:59:00.000Z',
            p50_ms: 4.2,
            p95_ms: 11.3,
            points: { at: [3, 59], calls: [8, 1], errors: [0, 1], p50_ms: [4.2, 5], p95_ms: [11.3, 5] },
          },
        ],
        is_complete: true,
      },
    ],
  });
export type History = z.infer<typeof History>;
