import * as z from 'zod';
import { failureKinds } from '../failure.ts';
import { Fixes } from './fix.ts';

const ProblemField = z
  .object({
    pointer: z
      .string()
      .optional()
      .meta({ description: 'The field of the request body, as a JSON pointer (RFC 6901).' }),
    parameter: z.string().optional().meta({
      description: 'The path parameter, query parameter, or header, for a problem outside the request body.',
    }),
    detail: z.string().meta({ description: 'The problem of this field.' }),
  })
  .meta({ id: 'ProblemField', description: 'A field of a request that caused an error.' });

export const Problem = z
  .object({
    type: z.string().meta({
      description: 'Always `about:blank`, because the status identifies the error (RFC 9457, section 4.2.1).',
    }),
    title: z.string().meta({ description: 'The name of the status code.' }),
    status: z.int().meta({ description: 'The status code of the response.' }),
    detail: z.string().meta({ description: 'The error message.' }),
    kind: z.enum([...failureKinds, 'internal']).meta({ description: 'The kind of the error, for programs.' }),
    hint: z.string().optional().meta({ description: 'An action that fixes the error.' }),
    fixes: Fixes,
    errors: z
      .array(ProblemField)
      .optional()
      .meta({ description: 'The fields that caused the error, if they are known.' }),
  })
  .meta({
    id: 'Problem',
    description: 'An error as problem details (RFC 9457).',
    examples: [
      {
        type: 'about:blank',
        title: 'Bad Request',
        status: 400,
        detail: 'name: a workload needs a name',
        kind: 'invalid',
        errors: [{ pointer: '/name', detail: 'a workload needs a name' }],
      },
    ],
  });
export type Problem = z.infer<typeof Problem>;
