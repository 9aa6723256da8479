import { unavailable } from '@toolhive/contract/failure';
import type { RuntimeCheck } from '@toolhive/contract/system';
import type { CommandCall } from '../command.ts';
import { printable } from '../out.ts';
import type { Out } from '../out.ts';

/** Tells what servers can run in here, and fails when it is nothing. */
export async function run({ flags, out, client, signal }: CommandCall): Promise<void> {
  const hive = await client();
  const checks = await hive.getRuntime({}, { signal });
  if (flags.text('format') === 'json') out.json(checks);
  else for (const check of checks.runtimes) describe(out, check, check.runtime === checks.chosen);
  if (checks.chosen === null) {
    throw unavailable('no server can run on this machine', {
      hint: checks.runtimes.flatMap(({ hint }) => hint ?? []).join('; or '),
    });
  }
}

function describe(
  out: Out,
  { runtime, available, detail, hint, limits }: RuntimeCheck,
  isChosen: boolean,
): void {
  const mark = available ? out.paint('green', 'available') : out.paint('red', 'not available');
  out.line(`${runtime}: ${mark}${isChosen ? ', used for new workloads' : ''}`);
  out.line(`  ${printable(detail)}`);
  if (hint !== undefined && !available) out.line(`  hint: ${printable(hint)}`);
  for (const limit of limits) out.line(`  limit: ${limit}`);
}
