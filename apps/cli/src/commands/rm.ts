import type { CommandCall } from '../command.ts';

/** Removes workloads and returns when nothing of them is left. */
export async function run({ arguments: names, out, client, signal }: CommandCall): Promise<void> {
  const hive = await client();
  for (const name of names) {
    await hive.deleteWorkload({ params: { name } }, { signal, onProgress: out.progress });
    out.line(`removed ${name}`);
  }
}
