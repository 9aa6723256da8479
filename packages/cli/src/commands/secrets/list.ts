import type { CommandCall } from '../../command.ts';
import { oneLine } from '../../out.ts';

/** Lists the names of secrets. */
export async function run({ out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const { keys } = await daemon.listSecrets({}, { signal });
  out.result(keys, (page) => {
    if (keys.length === 0) page.line('No secrets stored.');
    for (const { key, description } of keys) {
      page.line(`- ${oneLine(key)}${description ? ` (${oneLine(description)})` : ''}`);
    }
  });
}
