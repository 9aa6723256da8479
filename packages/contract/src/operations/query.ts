import * as z from 'zod';

/** True only for the text `true`, as in the Go original. */
export const QueryFlag = z
  .string()
  .transform((text) => text === 'true')
  .meta({ type: 'boolean' });
