import type { CommandCall } from '../../command.ts';
import { confirm } from '../../prompt.ts';
import { forEach, selectedNames } from './many.ts';

/** Removes workloads and returns when nothing of them is left. */
export async function run(call: CommandCall): Promise<void> {
  const { arguments: named, flags, out, client, signal } = call;
  const names = await selectedNames(call);
  if (names.length === 0) out.note('There is nothing to remove.');
  // Whoever names them knows what they are; scripts are not asked, as they could not answer.
  if (named.length === 0 && names.length > 0 && !flags.has('yes')) {
    await confirm(`Remove ${names.length} workloads (${names.join(', ')})?`, { signal });
  }
  const daemon = await client();
  await forEach(names, { what: 'removed', out }, async (name) => {
    await daemon.deleteWorkload({ params: { name } }, { signal, onProgress: out.progress });
    return { shown: `removed ${name}` };
  });
}
