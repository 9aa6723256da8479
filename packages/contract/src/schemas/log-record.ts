import * as z from 'zod';

/** One line of a log. */
export const LogRecord = z
  .object({
    at: z.string().optional().meta({ description: 'The time of the line.', format: 'date-time' }),
    stream: z.enum(['stdout', 'stderr', 'output', 'proxy']).meta({
      description:
        'The origin of the line. `output`: an HTTP server, whose two output streams are combined. `proxy`: ToolHive.',
    }),
    level: z.enum(['debug', 'info', 'warn', 'error']).meta({
      description: 'The level in the line, otherwise `info`.',
    }),
    text: z.string().meta({ description: 'The line without its time, at most 16,384 characters.' }),
    line: z.int().meta({
      description:
        'The position of the line in the log, which only increases. Use the position with `before` to read earlier lines. Valid while the daemon runs.',
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
