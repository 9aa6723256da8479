import * as z from 'zod';

/** Which pre-releases of Python packages uv accepts: the values of its option `--prerelease`. */
export const PrereleaseMode = z.enum([
  'allow',
  'disallow',
  'if-necessary',
  'explicit',
  'if-necessary-or-explicit',
]);
export type PrereleaseMode = z.infer<typeof PrereleaseMode>;
