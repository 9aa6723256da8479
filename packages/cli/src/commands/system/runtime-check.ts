import { timedOut, unavailable } from '@toolhive/contract/failure';
import type { RuntimeCheck } from '@toolhive/contract/system';
import type { CommandCall } from '../../command.ts';
import { withinLimit } from '../../wait.ts';
import { printable } from '@toolhive/contract/printable';
import type { Page } from '../../out.ts';

/** Reports the available runtimes. Fails if none is available. */
export async function run({ flags, out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const checks = await withinLimit(
    (flags.number('timeout') ?? 0) * 1000,
    signal,
    (either) => daemon.getRuntime({}, { signal: either }),
    (cause) => timedOut('the runtimes did not respond in time', { hint: 'increase --timeout', cause }),
  );
  out.result(checks, (page) => {
    for (const check of checks.runtimes) describe(page, check, check.runtime === checks.chosen);
  });
  if (checks.chosen === null) {
    throw unavailable('no server can run on this machine', {
      hint: checks.runtimes.flatMap(({ hint }) => hint ?? []).join('; or '),
    });
  }
}

function describe(
  page: Page,
  { runtime, available, detail, hint, limits }: RuntimeCheck,
  isChosen: boolean,
): void {
  const mark = available ? page.paint('green', 'available') : page.paint('red', 'not available');
  page.line(`${runtime}: ${mark}${isChosen ? ', used for new workloads' : ''}`);
  page.line(`  ${printable(detail)}`);
  if (hint !== undefined && !available) page.line(`  hint: ${printable(hint)}`);
  for (const limit of limits) page.line(`  limit: ${limit}`);
}
