import { open } from 'node:fs/promises';
import { forbidden, invalid, messageOf } from '@toolhive/contract/failure';
import { printable } from '@toolhive/contract/printable';
import { PodChains } from '@toolhive/audit/pod-chains';
import type { CommandCall } from '../../command.ts';

/** Reports whether the audit records in logs are unchanged. Fails if they are not, or if there are none. */
export async function run({ arguments: files, out, signal }: CommandCall): Promise<void> {
  const read = new PodChains();
  for (const file of files) {
    try {
      await using handle = await open(file);
      for await (const line of handle.readLines({ signal })) read.add(line);
    } catch (cause) {
      throw invalid(`cannot read ${file}: ${messageOf(cause)}`, { cause });
    }
  }
  const chains = read.chains();
  if (chains.length === 0)
    throw invalid('the logs contain no audit records of proxy pods', {
      hint: 'set spec.audit.enabled, and save the output of kubectl logs',
    });
  const intact = chains.every(({ broken }) => broken === undefined);
  out.result({ intact, chains }, (page) => {
    for (const { pod, chain, first, records, broken } of chains) {
      const found =
        broken === undefined
          ? page.paint('green', 'intact')
          : page.paint('red', `broken at record ${broken.number}`);
      const why = broken === undefined ? '' : `: ${broken.reason}`;
      const from = first === 1 ? '' : `, from record ${first}`;
      page.line(`${printable(pod)} ${printable(chain)}: ${found}${why} (${records} records${from})`);
    }
  });
  if (!intact)
    throw forbidden('the audit records were changed', {
      hint: 'compare them with those of your log collector',
    });
}
