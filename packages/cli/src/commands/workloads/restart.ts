import type { CommandCall } from '../../command.ts';
import { startBy } from './start-by.ts';

/** Stops workloads and starts them again. */
export async function run(call: CommandCall): Promise<void> {
  await startBy('restartWorkload', call);
}
