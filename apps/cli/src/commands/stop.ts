import type { CommandCall } from '../command.ts';

/** Stops workloads and returns when they have stopped. */
export async function run({ arguments: names, out, client, signal }: CommandCall): Promise<void> {
  const hive = await client();
  for (const name of names) {
    await hive.stopWorkload({ params: { name } }, { signal, onProgress: out.progress });
    out.line(`stopped ${name}`);
  }
}
