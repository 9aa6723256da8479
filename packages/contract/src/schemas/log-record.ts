import * as z from 'zod';

/** One line of a log. */
export const LogRecord = z
  .object({
    at: z.string().optional().meta({ description: 'When it was written.', format: 'date-time' }),
    stream: z.enum(['stdout', 'stderr', 'output', 'proxy']).meta({
      description:
        'Where it was written. `output`: by a server that speaks HTTP, whose two streams are one. `proxy`: by ToolHive.',
    }),
    level: z.enum(['debug', 'info', 'warn', 'error']).meta({
      description: 'As the line says, or else `info`.',
    }),
    text: z.string().meta({ description: 'The line without its time, at most 16,384 characters.' }),
    line: z.int().meta({
      description:
        'The position of the line in the log, which only increases. `before` reads the lines before it. Valid while the daemon runs.',
    }),
  })
  .meta({
    id: 'LogRecord',
    description: 'One line of a log. The text comes from the server.',
    examples: [
      {
        at: '2026-01-31T09:30:00.000Z',
        stream: 'stderr',
        level: 'warn',
        text: 'WARN cannot reach the database, retrying',
        line: 18231,
      },
    ],
  });
export type LogRecord = z.infer<typeof LogRecord>;
