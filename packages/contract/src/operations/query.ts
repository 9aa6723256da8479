import * as z from 'zod';

/** True for exactly `true`, as the original reads it. */
export const QueryFlag = z
  .string()
  .transform((text) => text === 'true')
  .meta({ type: 'boolean' });
