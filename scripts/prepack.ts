// What the npm package needs beside the sources of the command line: npm runs this before it packs.
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildCli, root } from './build.ts';

await buildCli();
await copyFile(join(root, 'LICENSE'), join(root, 'apps/cli/LICENSE'));
