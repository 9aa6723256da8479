import type { CommandCall } from '../command.ts';

/** Starts a workload that does not run, and returns when it does. */
export async function run({ arguments: [name = ''], out, client, signal }: CommandCall): Promise<void> {
  const hive = await client();
  await hive.restartWorkload({ params: { name } }, { signal, onProgress: out.progress });
  const { url } = await hive.getWorkload({ params: { name } }, { signal });
  out.line(`${name} runs at ${url}`);
}
