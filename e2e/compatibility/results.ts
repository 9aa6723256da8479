import * as z from 'zod';
import { trials } from './libraries.ts';

/** What came of the last run of a client library. */
export const Result = z.object({
  name: z.string(),
  /** What was installed, the library first. */
  packages: z.record(z.string(), z.string()),
  date: z.iso.date(),
  trials: z.array(z.enum(trials)),
  /** Empty if every trial passed with servers of both generations. */
  failures: z.array(z.string()),
});
export type Result = z.infer<typeof Result>;

export const Results = z.array(Result);
