import { forbidden } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import type { CommandCall } from '../../command.ts';

/** Reports whether the audit log is unchanged. Fails if it is not. */
export async function run({ out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const verification = await daemon.verifyAudit({}, { signal });
  out.result(verification, (page) => {
    for (const { place, records, broken } of verification.chains) {
      const found =
        broken === undefined
          ? page.paint('green', 'intact')
          : page.paint('red', `broken at record ${broken.position}`);
      const why = broken === undefined ? '' : `: ${broken.reason}`;
      page.line(`${printable(place)}: ${found}${printable(why)} (${records} records read)`);
    }
  });
  if (!verification.intact) {
    throw forbidden('the audit log was changed by another program', {
      hint: 'compare it with an earlier backup',
    });
  }
}
