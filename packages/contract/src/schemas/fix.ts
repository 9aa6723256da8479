import * as z from 'zod';

export const Fix = z
  .object({
    label: z.string().meta({ description: 'What the operation does, for a button.' }),
    operation: z.string().meta({ description: 'The ID of the operation in this document.' }),
    parameters: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'The parameters of the path and the query.' }),
    body: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'The request body. Members that only the user knows are absent.' }),
  })
  .meta({
    id: 'Fix',
    description: 'An operation that fixes a problem, or that shows more about it.',
    examples: [{ label: 'Restart', operation: 'restartWorkload', parameters: { name: 'filesystem' } }],
  });
export type Fix = z.infer<typeof Fix>;

/** What fixes a problem: as a sentence for people with a terminal, and as operations for other interfaces. */
export interface Advice {
  hint: string;
  fixes?: readonly Fix[];
}

export const Fixes = z
  .array(Fix)
  .optional()
  .meta({ description: 'The operations that fix the problem, the most useful one first.' });
