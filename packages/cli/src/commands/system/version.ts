import type { CommandCall } from '../../command.ts';
import { version } from '../../version.ts';

/** Prints the version of this program, without the daemon. */
export async function run({ flags, out }: CommandCall): Promise<void> {
  const platform = `${process.platform}/${process.arch}`;
  const facts = { version, node_version: process.version, platform };
  const text = `ToolHive ${version}\nNode.js: ${process.version}\nPlatform: ${platform}`;
  out.result(facts, flags.has('json') ? JSON.stringify(facts, null, 2) : text);
}
