import type { CommandCall } from '../../command.ts';

/** Removes the logs that belong to no workload. */
export async function run({ out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const { removed } = await daemon.pruneLogs({}, { signal });
  const lines = removed.map((path) => `Removed: ${path}`);
  out.result(removed, lines.join('\n') || 'There was nothing to remove.');
}
