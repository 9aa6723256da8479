import { join } from 'node:path';

/** The root of the repository. */
export const root = new URL('../../', import.meta.url).pathname;

/** The built command line. */
export const thvScript = join(root, 'apps/cli/bin/thv.js');

/** What the command line loads where it was built. */
export const thvBundle = join(root, 'apps/cli/dist/thv.js');
