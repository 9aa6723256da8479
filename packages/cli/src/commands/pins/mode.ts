import type { ToolPinningMode } from '@toolhive/contract/tool-pins';
import type { CommandCall } from '../../command.ts';

/** Changes the reaction to changed tools. */
export async function run({ arguments: [name = '', mode], out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const body = { mode: mode as ToolPinningMode }; // its choices were checked
  const changed = await daemon.changeToolPinning({ params: { name }, body }, { signal });
  out.result(changed, `${name} has the tool pinning mode ${changed.mode}.`);
  if (changed.restarted) out.note(`${name} was restarted.`);
}
