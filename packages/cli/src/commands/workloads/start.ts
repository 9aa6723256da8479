import type { CommandCall } from '../../command.ts';
import { startBy } from './start-by.ts';

/** Starts workloads that do not run. */
export async function run(call: CommandCall): Promise<void> {
  await startBy('startWorkload', call);
}
