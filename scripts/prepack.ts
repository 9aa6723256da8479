// Builds the files that the npm package contains besides the CLI sources. npm runs this script before it packs.
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildCli, root } from './build.ts';

await buildCli();
await copyFile(join(root, 'LICENSE'), join(root, 'apps/cli/LICENSE'));
