import type { CommandCall } from '../command.ts';
import { version } from '../version.ts';

/** Prints the version of this program; asks no hive. */
export async function run({ flags, out }: CommandCall): Promise<void> {
  const platform = `${process.platform}/${process.arch}`;
  if (flags.has('json') || flags.text('format') === 'json') {
    out.json({ version, node_version: process.version, platform });
    return;
  }
  out.line(`ToolHive ${version}`);
  out.line(`Node.js: ${process.version}`);
  out.line(`Platform: ${platform}`);
}
