import { timedOut } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { limitOf } from '../../wait.ts';
import { forEach, selectedNames } from './many.ts';

/** Stops workloads and returns when they have stopped. */
export async function run(call: CommandCall): Promise<void> {
  const { flags, out, client, signal } = call;
  const names = await selectedNames(call);
  if (names.length === 0) out.note('There is nothing to stop.');
  const daemon = await client();
  const limit = limitOf((flags.number('timeout') ?? 0) * 1000);
  await forEach(names, { what: 'stopped', out, mayBeAbsent: true }, async (name) => {
    try {
      await daemon.stopWorkload(
        { params: { name } },
        { signal: AbortSignal.any([signal, limit]), onProgress: out.progress },
      );
    } catch (thrown) {
      if (!limit.aborted || signal.aborted) throw thrown;
      throw timedOut(`${name} has not stopped yet`, {
        hint: 'the daemon continues the operation. Run thv list --all to check',
        cause: thrown,
      });
    }
    return { shown: `stopped ${name}` };
  });
}
