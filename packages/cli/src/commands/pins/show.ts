import { ThvError } from '@toolhive/contract/failure';
import type { CommandCall } from '../../command.ts';
import { showChange, showItems } from './changes.ts';

/** Shows a server's recorded items. Throws if a change waits for approval, so that scripts detect it. */
export async function run({ arguments: [name = ''], out, client, signal }: CommandCall): Promise<void> {
  const daemon = await client();
  const pins = await daemon.getToolPins({ params: { name } }, { signal });
  const { mode, pending, complete, items } = pins;
  out.result(pins, (page) => {
    if (mode === 'off') page.line(`Tool pinning of ${name} is off, so ToolHive does not detect changes.`);
    for (const item of items) if (item.pending_hash !== undefined) showChange(page, item);
    showItems(page, items, name);
    if (!complete) page.line('The server lists more than ToolHive records. The rest is not pinned.');
  });
  if (pending === 0) return;
  const what = pending === 1 ? '1 change waits' : `${pending} changes wait`;
  throw new ThvError('forbidden', `${what} for your approval`, {
    hint: `to approve: thv pin approve ${name}. To forget changes that the server has reverted: thv pin dismiss ${name}`,
  });
}
