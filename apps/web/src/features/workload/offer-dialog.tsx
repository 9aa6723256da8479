import type { ReactNode } from 'react';
import type { ListedTool } from '@toolhive/contract/capabilities';
import { Action } from '../../ui/action.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { LastToolNote } from './last-tool-note.tsx';
import { RestartNote } from './restart-note.tsx';
import { changeTools, hidesAll, withShown } from './tool-changes.ts';

/** Hides a tool from clients, or offers it to them again. */
export default function OfferDialog({
  title,
  name,
  tool,
  tools,
  onClose,
}: {
  title: string;
  /** The name of the workload. */
  name: string;
  tool: ListedTool;
  tools: readonly ListedTool[];
  onClose: () => void;
}): ReactNode {
  const wanted = new Map([[tool.name, !tool.is_shown]]);
  const isLast = hidesAll(tools, wanted);
  const change = async (): Promise<void> => {
    if (await changeTools(name, () => withShown(tools, wanted))) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {isLast ? <LastToolNote /> : <RestartNote name={name} />}
      <div className="buttons">
        <Action className="primary" disabled={isLast} onClick={change}>
          Save and restart
        </Action>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
