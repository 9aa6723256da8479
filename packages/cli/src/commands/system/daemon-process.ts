import type { CommandCall } from '../../command.ts';
import { limitYoungGeneration } from '../../young-generation.ts';

/** Runs the daemon until a signal or a request stops it. */
export async function run(call: CommandCall): Promise<void> {
  const limit = limitYoungGeneration();
  const { serve } = await import('./serve.ts');
  await serve(call, { onReady: () => limit[Symbol.dispose]() });
}
