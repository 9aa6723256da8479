import * as z from 'zod';
import { failureKinds } from '../failure.ts';
import { Argument } from './names.ts';

/** The arguments for one run of a server's program. */
export const ExecWorkload = z
  .strictObject({
    args: z.array(Argument).min(1).meta({
      description: "The program's arguments, in place of those of the workload.",
    }),
  })
  .meta({
    id: 'ExecWorkload',
    description: "One run of a workload's program with other arguments.",
    examples: [{ args: ['auth'] }],
  });

/** A piece of standard input. */
export const ExecInput = z
  .strictObject({
    text: z.string().max(100_000).optional().meta({ description: 'The text that the program reads.' }),
    end: z.boolean().optional().meta({ description: '`true` ends the standard input.' }),
  })
  .meta({
    id: 'ExecInput',
    description: 'A piece of standard input for a running program.',
    examples: [{ text: '123456\n' }],
  });

/** An event while a workload's program runs with other arguments. */
export const ExecEvent = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('progress'),
      message: z.string().meta({ description: 'A step before the program runs.' }),
    }),
    z
      .object({ type: z.literal('started') })
      .meta({ description: 'The program runs, and reads its standard input.' }),
    z.object({
      type: z.literal('output'),
      stream: z.enum(['stdout', 'stderr']),
      text: z.string().meta({ description: 'A piece of the output, which may end within a line.' }),
    }),
    z.object({
      type: z.literal('ended'),
      exit_code: z.int().optional().meta({ description: 'Absent if the program was ended by a signal.' }),
      reason: z.string().meta({ description: 'How the program ended: `exited with code 1`.' }),
      starts: z.boolean().meta({ description: "Whether the workload's server starts again." }),
    }),
    z.object({
      type: z.literal('failed'),
      kind: z.enum([...failureKinds, 'internal']),
      message: z.string().meta({ description: 'Why the program could not run.' }),
      hint: z.string().optional(),
    }),
  ])
  .meta({ id: 'ExecEvent' });
export type ExecEvent = z.infer<typeof ExecEvent>;
